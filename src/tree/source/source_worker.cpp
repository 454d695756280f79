#include "tree/source/source_worker.h"

#include <utility>

#include "tree/source/tasks.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

constexpr int kSendTries = 3;

bool takes_again_flag(FrameKind kind) {
  return kind != FrameKind::copy_range && kind != FrameKind::lost && kind != FrameKind::ask;
}

std::uint64_t since(io::Clock::time_point begin) {
  return static_cast<std::uint64_t>((io::Clock::now() - begin).count());
}

}  // namespace

SourceWorker::SourceWorker(SourceSession& session, std::size_t index)
    : session_(session), index_(index), depth_(session.terms().shape.target_slots) {}

void SourceWorker::run(const StreamMaker& make_stream) {
  if (!set_up(make_stream)) return;
  const auto driven = drive_slots();
  if (!driven) session_.fail(driven.error());
  if (driven && !stream_lost_) session_.streams().end(index_);
  session_.plan().unsubscribe(ring_.get());
  session_.streams().leave(index_);
  tell_totals();
  // If the ring broke, work is still under way. The stream is destroyed first, because a peer in this process
  // may be reading what it sends; then the ring, before the tasks and the arena that the kernel may still
  // use.
  context_->files.detach();
  stream_.reset();
  ring_.reset();
  slots_.clear();
}

// Returns false if there is no ring or no memory, which ends the run.
bool SourceWorker::set_up(const StreamMaker& make_stream) {
  auto ring = io::make_ring(session_.settings().ring, depth_ + 8);
  auto arena = io::Arena::create(depth_, session_.terms().shape.slot_bytes);
  if (!ring || !arena) {
    session_.fail(ring ? arena.error() : ring.error());
    return false;
  }
  ring_ = std::move(*ring);
  arena_.emplace(std::move(*arena));
  session_.plan().subscribe(ring_.get());
  session_.streams().subscribe(index_, ring_.get());
  stream_ = make_stream(*ring_, *arena_);
  offer_arena(*ring_, *arena_, *stream_, session_.streams().count());
  idle_ = std::make_unique<io::WaitList>(*ring_);
  context_.emplace(session_, *ring_);
  context_->sends_from_arena = stream_->locks_arena();
  stream_->start();
  context_->needs_all_streams = is_slower_than_a_writer(stream_->rate_max());
  // One whose memory could not be locked takes no work to give back.
  if (stream_->why_shut()) lose_stream(*stream_->why_shut());
  return true;
}

io::Result<void> SourceWorker::drive_slots() {
  for (std::uint32_t i = 0; i < depth_; ++i) {
    const bool is_kept = i == 0 && depth_ > 1 && session_.terms().in_order;
    slots_.push_back(slot_loop(arena_->slot(i), is_kept ? Plan::Kind::lost_in_turn : Plan::Kind::any));
  }
  running_slots_ = depth_;
  // Before the first look at the plan: what changes after that look must not be missed.
  std::uint64_t changes = session_.plan().changes();
  std::uint64_t stream_changes = 0;
  for (io::Task& slot : slots_) slot.start();
  return drive(*ring_, *stream_, slots_, [&] { return look_around(changes, stream_changes); });
}

// Looks for what other threads have changed meanwhile. Returns false if the slots that are still busy will
// never be settled.
bool SourceWorker::look_around(std::uint64_t& changes, std::uint64_t& stream_changes) {
  Plan& plan = session_.plan();
  StreamTable& streams = session_.streams();
  const std::uint64_t changed = plan.changes();
  if (std::exchange(changes, changed) != changed || plan.stopped()) idle_->wake_all();
  const std::uint64_t altered = streams.changes();
  if (std::exchange(stream_changes, altered) != altered) {
    idle_->wake_all();  // this one may have rested
    if (rests()) plan.rest(this);
    if (streams.given_up(index_)) {
      stream_->shut(
          io::plain_error(io::ErrorKind::connection, "send to", "the target", "it lost the connection"));
    }
  }
  cut_if_stopped();
  if (stream_->why_shut() && !stream_lost_) {
    lose_stream(*stream_->why_shut());
    idle_->wake_all();
  }
  // Who would write what is left to be read may never do so.
  return !session_.stopped() || running_slots_ > context_->endless_reads;
}

// A run that was stopped has not sent all, and its target must not take an end for that.
void SourceWorker::cut_if_stopped() {
  if (session_.stopped()) stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
}

bool SourceWorker::is_last_to_end() {
  cut_if_stopped();
  return --running_slots_ == 0;
}

void SourceWorker::tell_totals() {
  session_.totals().add_worker(context_->times, stream_->counters(), ring_->description());
  if (!session_.streams().in_vain(index_)) {
    session_.totals().describe_stream(index_, stream_->description(), stream_->sealed());
  }
}

// The life of a chunk at the source: take a task, fill the slot, wait for a slot at the target, send, hear
// what became of it, settle. A batch may take several rounds, and a file's last extent is followed by its
// commit.
// Where the target writes in order, all slots but one may come to hold chunks that wait there for one that
// was lost with a stream; that one goes through the slot that is kept for it.
io::Task SourceWorker::slot_loop(std::span<std::byte> slot, Plan::Kind kind) {
  Work work;
  FilledSlot filled;
  net::Verdicts verdicts;
  bool under_way = false;
  while (!stream_lost_) {
    if (!under_way) {
      const Plan::Next next = rests() ? Plan::Next::wait : session_.plan().take(work, this, kind);
      if (next == Plan::Next::none) break;
      if (next == Plan::Next::wait) {
        const Stopwatch watch(kind == Plan::Kind::any ? idle_time() : not_counted_ns_);
        co_await idle_->wait();
        continue;
      }
      under_way = true;
    }
    std::optional<AckStatus> status = AckStatus::bad_digest;
    for (int tries = 0; tries < kSendTries && status == AckStatus::bad_digest; ++tries) {
      if (tries == 0 || filled.read_anew) {
        Filling filling = fill(work.task, slot, *context_);
        filled = co_await filling;
      }
      status = AckStatus::refused;
      if (!filled.is_ready()) break;
      if (work.again && takes_again_flag(filled.frame.kind)) filled.frame.flags |= net::kFlagAgain;
      co_await ring_->sleep_until(session_.limiter().reserve(filled.moves));
      status.reset();
      const auto credit = co_await stream_->credit();
      if (!credit) {
        lose_stream(credit.error());
        break;
      }
      filled.frame.slot = *credit;
      const auto in_ledger = note_sending(filled, slot);
      const auto sent = co_await stream_->send(filled.frame, filled.payload(slot));
      if (!sent) {
        lose_stream(sent.error());
        break;
      }
      const io::Clock::time_point sent_at = io::Clock::now();
      const auto answer = co_await stream_->acknowledged(*credit, &verdicts);
      context_->times.away_ns += since(sent_at);
      if (!answer) {
        lose_stream(answer.error());
        break;
      }
      status = *answer;
      note_answer(filled, in_ledger, *answer);
    }
    if (!status) break;
    auto next = settle_work(work.task, {filled, slot, *status, verdicts});
    under_way = next.has_value();
    work = under_way ? Work{std::move(*next)} : Work{};
  }
  if (under_way) give_back(std::move(work), filled, slot);
  if (is_last_to_end() && !stream_lost_) {
    const auto sent = co_await stream_->send(end_frame(), {});
    if (!sent) lose_stream(sent.error());
  }
}

// Its target must know whether this is the end of all or of a run that has failed.
net::Frame SourceWorker::end_frame() const {
  net::Frame end = bare_frame(FrameKind::end, 0);
  if (session_.plan().stopped()) end.flags = net::kFlagCutShort;
  return end;
}

// Another stream, which ends or is lost, ends the rest.
bool SourceWorker::rests() const {
  return session_.streams().rests(index_) && !session_.plan().stopped();
}

// Idle at the end of the walk only means that there is less work than workers.
std::uint64_t& SourceWorker::idle_time() {
  return rests() || session_.plan().totals().complete ? not_counted_ns_ : context_->times.idle_ns;
}

// Returns what stands for the frame in the ledger, or nothing if it is in none: what is about streams is no
// affair of the targets behind the first one.
std::optional<net::Sha256> SourceWorker::note_sending(const FilledSlot& filled,
                                                      std::span<const std::byte> slot) {
  if (session_.ledger() == nullptr || filled.frame.kind == FrameKind::lost) return std::nullopt;
  const net::Sha256 identity = identity_of(filled.frame, filled.payload(slot));
  session_.ledger()->send(identity);
  return identity;
}

void SourceWorker::note_answer(const FilledSlot& filled, const std::optional<net::Sha256>& sent,
                               AckStatus status) {
  carried_ = carried_ || net::has_payload(filled.frame.kind);
  const bool damaged = status == AckStatus::bad_digest;
  if (damaged) session_.totals().count_resent();
  if (!damaged) session_.totals().count_arrived(filled.frame.length);
  if (!sent) return;
  if (damaged) return session_.ledger()->take_back(*sent);
  session_.ledger()->settle(*sent);
}

std::optional<Task> SourceWorker::settle_work(Task& task, const SlotAnswer& answer) {
  if (answer.status != AckStatus::bad_digest) return settle(task, answer, *context_);
  session_.fail(
      io::plain_error(io::ErrorKind::digest, "copy", subject_of(task),
                      session_.settings().verify
                          ? "a chunk arrived damaged, or is not on the target's disk as it was written, each "
                            "time it was sent; giving up"
                          : "a chunk arrived damaged each time it was sent; giving up"));
  return std::nullopt;
}

// A connection that breaks is dropped, if it is not the last; a peer that breaks the protocol is not trusted
// over another one.
void SourceWorker::lose_stream(const io::Error& error) {
  if (std::exchange(stream_lost_, true)) return;
  if (error.kind == io::ErrorKind::connection &&
      session_.streams().lose(index_, stream_->description(), error, carried_)) {
    session_.plan().lose_stream(index_, this);
  } else {
    session_.fail(error);
  }
}

// Gives unfinished work back to the plan. Bytes of a byte stream cannot be read again, so their loss ends the
// run; one that has ended takes nothing back.
void SourceWorker::give_back(Work work, const FilledSlot& filled, std::span<const std::byte> slot) {
  if (session_.plan().stopped()) return;
  if (keep_for_another_stream(work.task, filled, slot)) {
    session_.plan().give_back(std::move(work.task), index_, this);
  } else {
    session_.fail(*stream_->why_shut());
  }
}

}  // namespace rdcp::tree
