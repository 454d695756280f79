#include "tree/target/chunk_handler.h"

#include <algorithm>

#include "tree/target/merged_answer.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

// How often a chunk that has come whole is written, while it is not read back as it was written.
constexpr int kWriteTries = 3;

bool is_last_of_file(FrameKind kind) {
  return kind == FrameKind::commit || kind == FrameKind::abandon;
}

}  // namespace

void ChunkHandler::start() {
  if (!chain_.next.empty()) desk_ = std::make_unique<AnswerDesk>(*context_.ring);
}

ChunkHandler::Slot::Slot(ChunkHandler& handler) : own(handler.handlers_) {
  if (handler.desk_ != nullptr) passed.emplace(*handler.desk_);
}

io::Step<ChunkAnswer> ChunkHandler::handle(const net::Frame& frame, std::span<const std::byte> payload,
                                           Slot& slot) {
  slot.own.verdicts = {};
  context_.session.tally.pace.bytes += frame.length;
  if (TargetLedger* ledger = context_.session.guards.ledger.get())
    ledger->frames.add(identity_of(frame, payload));
  if (slot.passed) return handle_and_pass_on(frame, payload, slot);
  return handle_here(frame, payload, slot.own);
}

// Whether the frame is about a file that this target has refused. An opening begins anew, and takes the place
// of an earlier one of the same file: another target wants it opened in another way.
bool ChunkHandler::is_for_others(const net::Frame& frame) {
  FilesUnderWay& files = context_.session.files;
  if (frame.kind == FrameKind::open) {
    files.refused.forget(frame.file_id);
    files.open.take(frame.file_id);
    return false;
  }
  if (!files.refused.concerns(frame)) return false;
  if (is_last_of_file(frame.kind)) {
    files.open.take(frame.file_id);
    files.refused.forget(frame.file_id);
  }
  return true;
}

io::Step<ChunkAnswer> ChunkHandler::handle_here(const net::Frame& frame, std::span<const std::byte> payload,
                                                FrameHandlers::Slot& slot) {
  TargetSession& session = context_.session;
  ChunkAnswer answer{AckStatus::refused, {}};
  if (session.refusing() || (chain_.member && is_for_others(frame))) co_return answer;
  const io::Occupancy::Use handling(session.tally.pace.handling);
  const io::Clock::time_point before = io::Clock::now();
  answer.status = co_await handlers_.handle(frame, payload, slot);
  if (answer.status == AckStatus::done) answer.verdicts = slot.verdicts;
  const bool waits = frame.kind == FrameKind::data || frame.kind == FrameKind::probe;
  std::uint64_t& spent = waits ? context_.times.write_wait_ns : context_.times.write_busy_ns;
  spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
  const bool more_may_come = chain_.member && !is_last_of_file(frame.kind);
  if (more_may_come && answer.status == AckStatus::refused) session.files.refused.add(frame);
  co_return answer;
}

// Handlers read the bytes of a file where they lie, as do the streams to the next target. Everything else is
// copied first, because its slot is room to work in.
io::Step<ChunkAnswer> ChunkHandler::handle_and_pass_on(const net::Frame& frame,
                                                       std::span<const std::byte> payload, Slot& slot) {
  TargetSession& session = context_.session;
  PassedChunk& passed = *slot.passed;
  const bool copies = frame.kind != FrameKind::data || context_.read_back != nullptr;
  passed.begin(frame, payload, chain_.next.size(), copies);
  for (NextTargets* next : chain_.next) next->pass_on(passed);
  ChunkAnswer own = co_await handle_here(frame, payload, slot.own);
  for (int tries = 1; own.status == AckStatus::bad_digest; ++tries) {
    // Whoever sent it would send it to the others, too, so it is written again here.
    if (tries == kWriteTries) {
      context_.fail(io::plain_error(io::ErrorKind::digest, "write", session.place.name,
                                    "a chunk is not on the disk as it was written, each time; giving up"));
    }
    std::ranges::copy(passed.payload(), slot.own.memory.begin());
    own = co_await handle_here(frame, payload, slot.own);
  }
  {
    const io::Occupancy::Use waiting(session.tally.pace.waiting);
    while (!passed.is_answered()) co_await context_.turns->wait();
  }
  // A source that heard an answer would take the chunk for one that all targets have.
  while (passed.lacks_answer() && session.guards.ledger && context_.may_wait())
    co_await context_.turns->wait();
  for (const ChunkAnswer& behind : passed.answers())
    own = merged(frame, own, behind, session.job.wishes.strict);
  co_return own;
}

void ChunkHandler::look_around() {
  if (desk_ != nullptr && desk_->take_news()) context_.turns->wake_all();
}

void ChunkHandler::abandon() {
  if (desk_ == nullptr) return;
  for (NextTargets* next : chain_.next) next->stop();
  desk_->wait_for_all();
}

}  // namespace rdcp::tree
