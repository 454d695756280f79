#include "cli/copy/copy_summary.h"

#include "cli/copy/limits.h"

namespace rdcp::cli {

Summary summary_of(const CopyRequest& request, const tree::Done& source, const tree::Done& target,
                   const DataPath& path, double seconds) {
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
  for (const tree::Done* done : {&source, &target}) {
    result.notes.insert(result.notes.end(), done->notes.begin(), done->notes.end());
  }
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
  result.warnings.insert(result.warnings.end(), target.warnings.begin(), target.warnings.end());
  for (const tree::Loss& loss : target.losses) {
    result.losses.push_back(
        {std::string(tree::describe(loss.kind)), loss.count, loss.first_path, loss.cause});
  }
  return result;
}

}  // namespace rdcp::cli
