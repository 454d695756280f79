// Large files of which an earlier run has written a part: what of it is there.
#include <algorithm>

#include "tree/pages/probe.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using net::AckStatus;

// Whether the source should ask before it sends.
bool TargetWorker::has_part(TargetFile& file) const {
  const Journal* journal = file.journal();
  return journal != nullptr && journal->has_any() && block_bytes_for(shape_.slot_bytes) > 0;
}

io::Step<AckStatus> TargetWorker::ask(const net::Frame& frame, std::span<std::byte> slot,
                                      net::Verdicts& verdicts) {
  const auto question = Probe::parse_question(frame.extra);
  if (!question) {
    fail(question.error());
    co_return AckStatus::refused;
  }
  const TargetFileRef file = find_for_span(frame, *question);
  if (file == nullptr) co_return AckStatus::refused;
  if (!file->asked) {
    protocol_error("a question about a file of which nothing is there");
    co_return AckStatus::refused;
  }
  Journal& journal = *file->journal();
  // What was written before the host was booted, or is to be verified, is read now. What cannot be, or is
  // another, is not there.
  while (may_wait()) {
    const auto record = journal.take_doubtful(frame.offset, question->length());
    if (!record) break;
    const io::RingFile place = read_back_ != nullptr ? read_back_of(*file) : file->place();
    const std::size_t wanted = place.direct ? io::round_up(record->length, io::kPageBytes) : record->length;
    if (record->offset % io::kPageBytes != 0 || wanted > slot.size()) continue;
    const io::IoResult read = co_await ring_->read(place, slot.first(wanted), record->offset);
    if (read.bytes < record->length) continue;
    const Stopwatch watch(times_.digest_ns);
    if (io::digest_of(slot.first(record->length)) == record->digest) journal.confirm(*record);
  }
  for (std::size_t i = 0; i < question->count(); ++i) {
    const auto [offset, length] = question->block(i);
    if (!journal.holds(frame.offset + offset, length)) continue;
    verdicts.set(i, static_cast<std::uint8_t>(PieceVerdict::present));
    target_.bytes_ += length;
  }
  co_return may_wait() ? AckStatus::done : AckStatus::refused;
}

}  // namespace rdcp::tree
