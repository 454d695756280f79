// Makes the lines of --json, whose schema rdcp(1) describes under JSON OUTPUT.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text/json_text.h"
#include "cli/text/progress.h"
#include "cli/text/report.h"
#include "io/result.h"
#include "tree/messages/changes.h"
#include "tree/messages/message.h"

namespace rdcp::cli {

// An error, wherever it happened. What is empty or 0 is left out of its object.
struct JsonProblem {
  io::ErrorKind kind = io::ErrorKind::file;
  std::string host = {};  // where it happened; empty: here
  std::string path = {};  // raw bytes
  int code = 0;           // errno value
  std::string text = {};  // the message, without the program's name
};
JsonProblem json_problem(const io::Error& error);
// The same of a problem that an agent has reported. host: the agent's, or nothing if it is here.
JsonProblem json_problem(const tree::Problem& problem, const std::string& host);

// Collects what a run of rdcp does. Each function returns the lines to print now, which may be none. A last
// line follows whatever happened, and has the exit status. Not thread-safe.
class JsonReport {
 public:
  static constexpr int kVersion = 1;                // of the schema; fields that are added do not raise it
  static constexpr std::size_t kProblemsMax = 100;  // in the last line
  static constexpr std::chrono::seconds kBetweenProgress{1};

  explicit JsonReport(JsonForm form) : form_(form) {}

  // A copy of these begins.
  std::string start(const std::vector<std::string>& sources, const std::vector<std::string>& destinations);
  // The copy that has begun last is made anew after this pause.
  std::string retry(std::chrono::seconds pause);
  std::string change(const tree::Change& change, bool sends, const std::string& host = {});
  std::string progress(const ProgressState& state, ProgressClock::time_point now = ProgressClock::now());
  std::string problem(const JsonProblem& problem);
  std::string warning(std::string_view text);
  // The copy is over; warnings and what was not kept come with it.
  std::string finished(const Summary& summary);
  // Says what became of one of several hosts. cause: empty where it has all.
  std::string host(const std::string& name, const std::string& cause, int status);
  // Says that one of several hosts has left the chain, because it was slower than the others.
  std::string slow_host(const std::string& name, const std::string& why);
  // Adds a number to the last line.
  void count(std::string_view name, std::uint64_t value) { counts_[std::string(name)] = value; }
  // Returns the last line.
  std::string end(int exit_status);

 private:
  nlohmann::ordered_json event(std::string_view name) const;
  std::string event_line(const nlohmann::ordered_json& event) const;

  const JsonForm form_;
  std::vector<Summary> summaries_;  // of the copies that are over
  bool current_is_over_ = false;    // the last of them is of the copy that has begun last
  std::vector<JsonProblem> problems_;
  std::uint64_t problem_count_ = 0;
  nlohmann::ordered_json hosts_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json counts_ = nlohmann::ordered_json::object();
  std::optional<ProgressClock::time_point> next_progress_;
  RateMeter rate_;
};

}  // namespace rdcp::cli
