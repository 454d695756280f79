#include "cli/text/json_report.h"

#include <string.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "cli/text/change_line.h"
#include "cli/text/human.h"
#include "cli/text/version.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using nlohmann::ordered_json;

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::file:
    case ErrorKind::reader_gone:
      return "file";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::unreachable:
      return "unreachable";
    case ErrorKind::connection:
    case ErrorKind::protocol:
      return "connection";
    case ErrorKind::digest:
      return "digest";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "unknown";
}

void add_problem(ordered_json& object, const JsonProblem& problem) {
  object["kind"] = name_of(problem.kind);
  if (!problem.host.empty()) object["host"] = problem.host;
  if (!problem.path.empty()) object["path"] = problem.path;
  if (const char* name = problem.code > 0 ? ::strerrorname_np(problem.code) : nullptr; name != nullptr)
    object["errno"] = name;
  object["message"] = problem.text;
}

// Returns the sum of several copies. What only one can have is that of the last.
Summary sum_of(const std::vector<Summary>& summaries) {
  Summary sum = summaries.back();
  for (auto part = summaries.begin(); part + 1 != summaries.end(); ++part) {
    sum.files += part->files;
    sum.directories += part->directories;
    sum.others += part->others;
    sum.bytes += part->bytes;
    sum.seconds += part->seconds;
    sum.payload_bytes += part->payload_bytes;
    sum.packed_bytes += part->packed_bytes;
    sum.retried_chunks += part->retried_chunks;
    sum.kept_bytes += part->kept_bytes;
    sum.wire_bytes += part->wire_bytes;
    sum.losses.insert(sum.losses.end(), part->losses.begin(), part->losses.end());
    sum.warnings.insert(sum.warnings.end(), part->warnings.begin(), part->warnings.end());
  }
  return sum;
}

}  // namespace

JsonProblem json_problem(const io::Error& error) {
  const bool is_path = error.kind == ErrorKind::file || error.kind == ErrorKind::digest;
  const bool is_host = error.kind == ErrorKind::unreachable;
  return {.kind = error.kind,
          .host = is_host ? error.subject : std::string(),
          .path = is_path ? error.subject : std::string(),
          .code = error.code,
          .text = error.message()};
}

JsonProblem json_problem(const tree::Problem& problem, const std::string& host) {
  return {.kind = problem.kind,
          .host = host,
          .path = problem.path,
          .code = static_cast<int>(std::min<std::uint32_t>(problem.code, INT_MAX)),
          .text = problem.text};
}

ordered_json JsonReport::event(std::string_view name) const {
  return {{"event", name}, {"time", utc_now()}};
}

std::string JsonReport::event_line(const ordered_json& event) const {
  return form_ == JsonForm::events ? json_text(event) : std::string();
}

std::string JsonReport::start(const std::vector<std::string>& sources,
                              const std::vector<std::string>& destinations) {
  current_is_over_ = false;
  rate_ = {};
  ordered_json object = event("start");
  object["version"] = kVersion;
  object["program_version"] = std::string(rdcp::cli::kVersion);
  object["sources"] = sources;
  object["destination"] = destinations.front();
  if (destinations.size() > 1) object["destinations"] = destinations;
  return event_line(object);
}

std::string JsonReport::retry(std::chrono::seconds pause) {
  if (std::exchange(current_is_over_, false)) summaries_.pop_back();
  rate_ = {};
  ordered_json object = event("retry");
  object["after_seconds"] = pause.count();
  return event_line(object);
}

std::string JsonReport::change(const tree::Change& change, bool sends, const std::string& host) {
  ordered_json one = change_json(change, sends);
  if (!host.empty()) one["host"] = host;
  if (form_ == JsonForm::results) return json_text(one);
  ordered_json object = event("change");
  object.update(one);
  return event_line(object);
}

std::string JsonReport::progress(const ProgressState& state, ProgressClock::time_point now) {
  if (form_ != JsonForm::events || (next_progress_ && now < *next_progress_)) return {};
  next_progress_ = now + kBetweenProgress;
  rate_.add(now, state.bytes_done);
  ordered_json object = event("progress");
  object["files_done"] = state.files_done;
  object["files_total"] = state.files_total;
  object["bytes_done"] = state.bytes_done;
  object["bytes_total"] = state.bytes_total;
  object["totals_are_final"] = state.walk_finished;
  object["bytes_per_second"] = static_cast<std::uint64_t>(rate_.bytes_per_second());
  object["path"] = state.path;
  if (state.hosts.all > 0) {
    object["hosts"] = {{"all", state.hosts.all}, {"done", state.hosts.done}, {"failed", state.hosts.failed}};
  }
  return event_line(object);
}

std::string JsonReport::problem(const JsonProblem& problem) {
  ++problem_count_;
  if (problems_.size() < kProblemsMax) problems_.push_back(problem);
  ordered_json object = event("problem");
  add_problem(object, problem);
  return event_line(object);
}

std::string JsonReport::warning(std::string_view text) {
  ordered_json object = event("warning");
  object["message"] = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  return event_line(object);
}

std::string JsonReport::host(const std::string& name, const std::string& cause, int status) {
  ordered_json one = {{"host", name}, {"status", status}};
  if (!cause.empty()) one["message"] = cause;
  hosts_.push_back(one);
  ordered_json object = event("host");
  object.update(one);
  return event_line(object);
}

std::string JsonReport::slow_host(const std::string& name, const std::string& why) {
  ordered_json object = event("slow");
  object["host"] = name;
  object["message"] = why;
  return event_line(object);
}

std::string JsonReport::finished(const Summary& summary) {
  summaries_.push_back(summary);
  current_is_over_ = true;
  std::string lines;
  for (const std::string& text : summary.warnings) lines += warning(text);
  return lines;
}

std::string JsonReport::end(int exit_status) {
  ordered_json object = form_ == JsonForm::events ? event("end") : ordered_json::object();
  object["version"] = kVersion;
  object["status"] = exit_status;
  if (!summaries_.empty()) object.update(summary_json(sum_of(summaries_)));
  object.update(counts_);
  if (!hosts_.empty()) object["hosts"] = hosts_;
  object["error_count"] = problem_count_;
  object["errors"] = ordered_json::array();
  for (const JsonProblem& problem : problems_) add_problem(object["errors"].emplace_back(), problem);
  return json_text(object);
}

}  // namespace rdcp::cli
