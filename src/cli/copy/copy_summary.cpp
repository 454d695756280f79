#include "cli/copy/copy_summary.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "cli/text/limits.h"

namespace rdcp::cli {

namespace {

io::Words words_of(const std::string& host, const io::Words& text) {
  return host.empty() ? text : io::Words(host + ": " + std::string(text));
}

// Many targets have the same to say, so that is said once.
void add_notes(const EndedTarget& target, std::set<std::string>& said, Summary& result) {
  for (const io::Words& note : target.done.notes) {
    if (said.insert(note).second) result.notes.push_back(words_of(target.host, note));
  }
}

// Losses of one kind are one, wherever they are.
void add_losses(const EndedTarget& target, Summary& result) {
  for (const tree::Loss& loss : target.done.losses) {
    if (loss.count == 0) continue;
    const std::string kind(tree::describe(loss.kind));
    auto known = std::ranges::find(result.losses, kind, &Loss::kind);
    if (known == result.losses.end()) {
      result.losses.push_back({kind, 0, loss.first_path, loss.cause, {}});
      known = std::prev(result.losses.end());
    }
    known->count += loss.count;
    if (!target.host.empty()) known->hosts.push_back(target.host);
  }
}

}  // namespace

Summary summary_of(const CopyRequest& request, const tree::Done& source,
                   const std::vector<EndedTarget>& targets, const DataPath& path, double seconds) {
  const tree::Done& target = targets.front().done;
  Summary result;
  result.program = request.view.program;
  result.files = source.files;
  result.directories = source.directories;
  result.others = source.others;
  result.bytes = source.bytes;
  result.seconds = seconds;
  result.streams = path.streams;
  result.ways = source.streams;
  result.notes = path.notes;
  result.notes.insert(result.notes.end(), source.notes.begin(), source.notes.end());
  result.payload_bytes = source.payload_bytes;
  result.packed_bytes = source.packed_bytes;
  result.encrypted = source.encrypted;
  result.compress = request.compresses();
  result.ring = source.ring == target.ring ? std::string(source.ring)
                                           : source.ring + " (source), " + target.ring + " (target)";
  result.limited_by = limited_by(source, target,
                                 {.seconds = seconds,
                                  .workers = path.streams,
                                  .slots = path.slots,
                                  .bytes_per_second = request.bytes_per_second});
  result.retried_chunks = source.resent_chunks;
  result.kept_bytes = source.kept_bytes;
  result.wire_bytes = source.wire_bytes;
  result.warnings.assign(source.lost_streams.begin(), source.lost_streams.end());
  std::set<std::string> said;
  for (const EndedTarget& one : targets) {
    for (const io::Words& warning : one.done.warnings) result.warnings.push_back(words_of(one.host, warning));
    add_notes(one, said, result);
    add_losses(one, result);
  }
  return result;
}

Summary summary_of(const CopyRequest& request, CopySides& sides, const DataPath& path, double seconds) {
  const bool several = request.parties.start_targets.size() > 1;
  std::vector<EndedTarget> targets;
  for (const auto& target : sides.targets())
    targets.push_back({several ? target->session->name() : std::string(), *target->done});
  return summary_of(request, *sides.source().done, targets, path, seconds);
}

void name_carrier(Summary& summary, const std::string& carrier) {
  summary.carrier_encrypts = carrier == "ssh";
  const std::string way = carrier + (summary.carrier_encrypts ? ", which encrypts it" : "");
  for (io::Words& told : summary.ways) {
    if (!std::string(told).empty()) told = io::Words(way);
  }
}

}  // namespace rdcp::cli
