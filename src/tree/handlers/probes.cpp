#include "tree/handlers/probes.h"

namespace rdcp::tree {

using net::AckStatus;

// Finds the file of a question and checks the question against it. Null: the run is over, or the file has
// failed.
TargetFileRef Probes::find(const net::Frame& frame, const Probe& probe) {
  const TargetFileRef file = context_.session.files.open.find(frame.file_id);
  if (file == nullptr) {
    context_.protocol_error("a question about a file that is not open");
    return nullptr;
  }
  // Sums are checked before they are used: neither side of these comparisons can overflow.
  const bool inside =
      file->size != kUnknownSize && frame.offset <= file->size && probe.length() <= file->size - frame.offset;
  const bool blocks = probe.form() == Probe::Form::blocks;
  const bool aligned = frame.offset % io::kPageBytes == 0 && probe.size() % io::kPageBytes == 0;
  const std::uint64_t least = block_bytes_for(context_.shape.slot_bytes);
  if (!inside || least == 0 || (blocks && (probe.size() > least || !aligned))) {
    context_.protocol_error("a question outside its file");
    return nullptr;
  }
  return file->has_failed() ? nullptr : file;
}

io::Step<AckStatus> Probes::probe(const net::Frame& frame, std::span<const std::byte> payload,
                                  std::span<std::byte> room, net::Verdicts& verdicts) {
  const auto probe = Probe::parse(payload);
  if (!probe) {
    context_.fail(probe.error());
    co_return AckStatus::refused;
  }
  const TargetFileRef file = find(frame, *probe);
  if (file == nullptr) co_return AckStatus::refused;
  const bool chunks = probe->form() == Probe::Form::chunks;
  if (file->old == nullptr || (chunks && !file->old->may_have_moved)) {
    context_.protocol_error("a probe of a file that has no old one");
    co_return AckStatus::refused;
  }
  const ProbedSpan probed{*probe, verdicts, frame.offset};
  AckStatus status = AckStatus::refused;
  if (chunks) {
    status = co_await chunks_.probe(file, probed, room);
  } else {
    status = co_await blocks_.probe(file, probed, room);
  }
  co_return status;
}

// Reads what the journal doubts within the extent, and confirms what is as it was recorded.
io::Step<bool> Probes::confirm(TargetFile& file, io::Extent extent, std::span<std::byte> slot) {
  Journal& journal = *file.journal();
  while (context_.may_wait()) {
    const auto record = journal.take_doubtful(extent.offset, extent.length);
    if (!record) co_return true;
    const io::RingFile place = context_.read_back != nullptr ? read_back_.file(file) : file.place();
    const std::size_t wanted = place.direct ? io::round_up(record->length, io::kPageBytes) : record->length;
    if (record->offset % io::kPageBytes != 0 || wanted > slot.size()) continue;
    const io::IoResult read = co_await context_.ring->read(place, slot.first(wanted), record->offset);
    if (read.bytes < record->length) continue;
    const Stopwatch watch(context_.times.digest_ns);
    if (io::digest_of(slot.first(record->length)) == record->digest) journal.confirm(*record);
  }
  co_return false;
}

io::Step<AckStatus> Probes::ask(const net::Frame& frame, std::span<std::byte> slot, net::Verdicts& verdicts) {
  const auto question = Probe::parse_question(frame.extra);
  if (!question) {
    context_.fail(question.error());
    co_return AckStatus::refused;
  }
  const TargetFileRef file = find(frame, *question);
  if (file == nullptr) co_return AckStatus::refused;
  if (!file->asked) {
    context_.protocol_error("a question about a file of which no part exists");
    co_return AckStatus::refused;
  }
  co_await confirm(*file, {frame.offset, question->length()}, slot);
  for (std::size_t i = 0; i < question->count(); ++i) {
    const auto [offset, length] = question->block(i);
    const io::Extent block{frame.offset + offset, length};
    if (!file->journal()->holds(block.offset, length)) {
      context_.want(*file, block);
      continue;
    }
    file->have(block);
    set_verdict(verdicts, i, PieceVerdict::present);
    context_.session.tally.bytes += length;
  }
  co_return context_.may_wait() ? AckStatus::done : AckStatus::refused;
}

}  // namespace rdcp::tree
