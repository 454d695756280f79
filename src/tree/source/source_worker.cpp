#include "tree/source/source_worker.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

bool takes_again_flag(FrameKind kind) {
  return kind != FrameKind::copy_range && kind != FrameKind::lost && kind != FrameKind::ask;
}

OpenAnswer open_answer(AckStatus status) {
  switch (status) {
    case AckStatus::done:
      return {.usable = true};
    case AckStatus::in_turn:
      return {.usable = true, .one_worker = true};
    case AckStatus::has_basis:
      return {.usable = true, .spans = Spans::probe};
    case AckStatus::has_like:
      return {.usable = true, .spans = Spans::like};
    case AckStatus::has_part:
      return {.usable = true, .spans = Spans::ask};
    case AckStatus::unsupported:
      return {.cannot_compare = true};
    default:
      return {};
  }
}

// What a piece of work is about, for messages.
std::string subject_of(const Work& work) {
  if (work.kind == Work::Kind::batch) return work.batch.items[work.batch.settled].subject();
  if (work.kind == Work::Kind::names) return work.names.root->given;
  return work.file != nullptr ? work.file->item().subject() : "stream " + std::to_string(work.stream + 1);
}

}  // namespace

SourceWorker::SourceWorker(Source& source, std::size_t index)
    : source_(source),
      index_(index),
      depth_(source.shape_.target_slots),
      packer_(source.plan_, source.small_file_max_, source.job_.settings.sync, source.policy_, source.names_,
              source.reporter_),
      asker_(source.job_.settings.sync, source.digest_max(), source.policy_, source.plan_, source.names_) {
  if (source_.sums_ != nullptr) packer_.want_sums();
}

// Ends the run, with this as its cause unless there is one: no more work is handed out. The streams are ended
// in order, so that the target does not take a cut connection for the cause.
void SourceWorker::fail(const io::Error& error) {
  source_.reporter_.fatal(error);
  source_.plan_.stop();
}

// A connection that breaks is dropped, if it is not the last; a peer that breaks the protocol is not trusted
// over another one.
void SourceWorker::lose_stream(const io::Error& error) {
  if (std::exchange(stream_lost_, true)) return;
  if (error.kind == io::ErrorKind::connection &&
      source_.streams_.lose(index_, stream_->description(), error, carried_)) {
    source_.plan_.lose_stream(index_, this);
  } else {
    fail(error);
  }
}

// What a byte stream has given cannot be read again. A run that is over wants nothing back.
void SourceWorker::give_back(Work work) {
  if (source_.plan_.stopped()) return;
  if (work.kind == Work::Kind::extent && work.file->is_byte_stream()) {
    fail(*stream_->why_shut());
  } else {
    source_.plan_.give_back(std::move(work), index_, this);
  }
}

void SourceWorker::run(const StreamMaker& make_stream) {
  auto ring = io::make_ring(source_.job_.settings.ring, depth_ + 8);
  auto arena = io::Arena::create(depth_, source_.shape_.slot_bytes);
  if (!ring || !arena) {
    fail(ring ? arena.error() : ring.error());
    return;
  }
  ring_ = std::move(*ring);
  source_.plan_.subscribe(ring_.get());
  source_.streams_.subscribe(index_, ring_.get());
  stream_ = make_stream(*ring_, *arena);
  offer_arena(*ring_, *arena, *stream_, source_.streams_.count());
  files_ = std::make_unique<RegisteredFiles>(*ring_);
  idle_ = std::make_unique<io::WaitList>(*ring_);
  stream_->start();
  // One whose memory could not be locked takes no work to give back.
  if (stream_->why_shut()) lose_stream(*stream_->why_shut());
  std::vector<io::Task> tasks;
  for (std::uint32_t i = 0; i < depth_; ++i) tasks.push_back(slot_loop(arena->slot(i)));
  running_slots_ = depth_;
  // Before the first look at the plan: what changes after that look must not be missed.
  std::uint64_t seen = source_.plan_.changes();
  std::uint64_t seen_losses = 0;
  for (io::Task& task : tasks) task.start();

  const auto driven = drive(*ring_, *stream_, tasks, [&] {
    const std::uint64_t changes = source_.plan_.changes();
    if (changes != seen || source_.plan_.stopped()) idle_->wake_all();
    seen = changes;
    const std::uint64_t losses = source_.streams_.changes();
    if (std::exchange(seen_losses, losses) != losses && source_.streams_.given_up(index_)) {
      stream_->shut(
          io::plain_error(io::ErrorKind::connection, "send to", "the target", "it lost the connection"));
    }
    if (source_.stopped()) {
      stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
    }
    if (stream_->why_shut() && !stream_lost_) {
      lose_stream(*stream_->why_shut());
      idle_->wake_all();
    }
    // Who would write what is left to be read may never do so.
    return !source_.stopped() || running_slots_ > reading_streams_;
  });
  if (!driven) fail(driven.error());
  if (driven && !stream_lost_) source_.streams_.end(index_);
  source_.plan_.unsubscribe(ring_.get());
  source_.streams_.leave(index_);
  const net::StreamCounters& sent = stream_->counters();
  const net::StreamTimes& waited = sent.times;
  source_.counters_.wire_bytes += sent.wire_bytes + sent.frames * net::kFrameBytes;
  const std::lock_guard lock(source_.mutex_);
  StageTimes& sum = source_.done_.times;
  sum.read_busy_ns += times_.read_busy_ns;
  sum.read_wait_ns += times_.read_wait_ns;
  sum.digest_ns += times_.digest_ns;
  sum.idle_ns += times_.idle_ns;
  sum.away_ns += waited.credit_ns + waited.send_ns + times_.away_ns;
  source_.done_.payload_bytes += sent.payload_bytes;
  source_.done_.packed_bytes += sent.wire_bytes;
  source_.done_.ring = ring_->description();
  if (!source_.streams_.in_vain(index_)) {
    std::vector<io::Words>& streams = source_.done_.streams;
    if (streams.size() <= index_) streams.resize(index_ + 1);
    streams[index_] = stream_->description();
  }
  // Where the ring broke, work is under way. The stream goes first: a peer in this process may be reading
  // what it sends. Then the ring, before the tasks and the arena, which the kernel may still know of.
  files_->detach();
  stream_.reset();
  ring_.reset();
  tasks.clear();
}

// The life of a chunk at the source: take work, fill the slot, wait for a slot at the target, send, hear what
// became of it. A batch may take several rounds, and a file's last extent is followed by its commit.
io::Task SourceWorker::slot_loop(std::span<std::byte> slot) {
  Work work;
  Chunk chunk;
  net::Verdicts verdicts;
  bool under_way = false;
  while (!stream_lost_) {
    if (!under_way) {
      const Plan::Next next = source_.plan_.take(work, this);
      if (next == Plan::Next::none) break;
      if (next == Plan::Next::wait) {
        // Idle at the end of the walk only means that there is less work than workers.
        std::uint64_t not_counted = 0;
        const Stopwatch watch(source_.plan_.totals().complete ? not_counted : times_.idle_ns);
        co_await idle_->wait();
        continue;
      }
      under_way = true;
    }
    AckStatus status = AckStatus::bad_digest;
    bool heard = true;
    for (int tries = 0; tries < Source::kSendTries && status == AckStatus::bad_digest; ++tries) {
      // A damaged extent is read anew; what was packed, or came out of a pipe, is sent again as it was, with
      // the digest it had.
      const bool reads = work.kind == Work::Kind::extent && !work.by_kernel;
      if (reads && (tries == 0 || !work.file->is_byte_stream())) {
        const io::Clock::time_point before = io::Clock::now();
        io::RingFile file = work.file->opened().file;
        const RegisteredFiles::Use use = files_->find(work.file->id(), file);
        const std::size_t wanted =
            file.direct ? io::round_up(work.extent.length, io::kPageBytes) : work.extent.length;
        const bool in_order = work.file->is_byte_stream();
        if (in_order) ++reading_streams_;
        if (in_order && work.extent.offset == 0 && work.file->item().root().waits_for_writer) {
          co_await ring_->poll(file.fd, POLLIN);
        }
        const io::IoResult read =
            co_await ring_->read(file, slot.first(wanted),
                                 in_order ? io::kNoOffset : work.file->opened().begin + work.extent.offset);
        if (in_order) --reading_streams_;
        std::uint64_t& spent = file.resident ? times_.read_busy_ns : times_.read_wait_ns;
        spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
        chunk = take_extent(work, slot, read);
      } else if (tries == 0 && work.kind == Work::Kind::span && work.spans != Spans::ask) {
        if (work.spans == Spans::chunks) {
          chunk = co_await probe_chunks(work, slot);
        } else {
          chunk = co_await probe_span(work, slot);
        }
      } else if (tries == 0) {
        std::optional<io::Digest> content;
        if (is_listed(work)) content = co_await digest_in_order(*work.file, slot);
        chunk = prepare(work, slot);
        if (content && !work.file->change_was_told()) chunk.packed = sums_of(*work.file, *content);
      }
      if (chunk.state != Chunk::State::ready) {
        status = AckStatus::refused;
        break;
      }
      if (work.again && takes_again_flag(chunk.frame.kind)) chunk.frame.flags |= net::kFlagAgain;
      const auto turn = source_.pacer_.reserve(chunk.moves);
      co_await ring_->sleep_until(turn);
      const auto credit = co_await stream_->credit();
      if (!credit) {
        lose_stream(credit.error());
        heard = false;
        break;
      }
      chunk.frame.slot = *credit;
      const auto sent = co_await stream_->send(chunk.frame, slot.first(chunk.length));
      if (!sent) {
        lose_stream(sent.error());
        heard = false;
        break;
      }
      const io::Clock::time_point sent_at = io::Clock::now();
      const auto answer = co_await stream_->acknowledged(*credit, &verdicts);
      times_.away_ns += static_cast<std::uint64_t>((io::Clock::now() - sent_at).count());
      if (!answer) {
        lose_stream(answer.error());
        heard = false;
        break;
      }
      status = *answer;
      carried_ = carried_ || net::has_payload(chunk.frame.kind);
      if (status == AckStatus::bad_digest) ++source_.counters_.resent_chunks;
    }
    if (!heard) break;
    work.again = false;
    under_way = settle(work, chunk, status, slot, verdicts);
  }
  if (under_way && work.kind == Work::Kind::span && chunk.frame.kind == FrameKind::probe) {
    work.probe.assign(slot.begin(), slot.begin() + static_cast<std::ptrdiff_t>(chunk.length));
  }
  if (under_way) give_back(std::move(work));
  if (--running_slots_ == 0 && !stream_lost_) {
    net::Frame end;
    end.kind = FrameKind::end;
    const auto sent = co_await stream_->send(end, {});
    if (!sent) lose_stream(sent.error());
  }
}

// A large file is read once more for that, since its chunks were read in any order.
bool SourceWorker::is_listed(const Work& work) const {
  return source_.sums_ != nullptr && work.kind == Work::Kind::commit && !work.file->item().root().opened;
}

bool SourceWorker::settle(Work& work, const Chunk& chunk, AckStatus status, std::span<const std::byte> slot,
                          const net::Verdicts& verdicts) {
  if (status == AckStatus::bad_digest) {
    fail(io::plain_error(
        io::ErrorKind::digest, "copy", subject_of(work),
        source_.job_.settings.verify
            ? "a chunk arrived damaged, or is not on the target's disk as it was written, each "
              "time it was sent; giving up"
            : "a chunk arrived damaged each time it was sent; giving up"));
    return false;
  }
  switch (work.kind) {
    case Work::Kind::batch:
      if (work.batch.to_compare()) return settle_compare(work, chunk, status, verdicts);
      return settle_batch(work, status == AckStatus::done ? chunk.packed : Packer::Packed());
    case Work::Kind::open:
      settle_open(work, status);
      return false;
    case Work::Kind::span:
      return settle_span(work, chunk, status, slot, verdicts);
    case Work::Kind::extent:
      return settle_extent(work, chunk, status);
    case Work::Kind::commit:
    case Work::Kind::abandon:
      settle_close(work, chunk, status);
      return false;
    case Work::Kind::names:
      return settle_names(work, chunk, status, verdicts);
    case Work::Kind::lost:
      source_.plan_.settle_lost(work.stream);
      return false;
  }
  return false;
}

// A page of the batch is answered. What is equal is done with; what is not is sent, by this coroutine unless
// it has to wait for other batches.
bool SourceWorker::settle_compare(Work& work, const Chunk& chunk, AckStatus status,
                                  const net::Verdicts& verdicts) {
  const bool refused = chunk.state == Chunk::State::ready && status != AckStatus::done;
  net::Verdicts answers = verdicts;
  for (std::size_t i = 0; refused && i < net::Verdicts::kCount; ++i) {
    answers.set(i, static_cast<std::uint8_t>(Verdict::refused));
  }
  asker_.take(work.batch, answers);
  if (work.batch.to_compare()) return true;
  if (!source_.plan_.settle_compare(work)) {
    work = {};
    return false;
  }
  if (CompareRequester::has_work(work.batch)) return true;
  work.batch.next = work.batch.items.size();
  return settle_batch(work, Packer::Packed());
}

bool SourceWorker::settle_names(Work& work, const Chunk& chunk, AckStatus status,
                                const net::Verdicts& verdicts) {
  NamesBatch& names = work.names;
  const bool sent = chunk.state == Chunk::State::ready;
  const bool refused = sent && status != AckStatus::done;
  if (names.compared < names.sums.size()) {
    for (std::size_t i = names.compared; i < names.asked_until; ++i) {
      if (verdicts.at(i - names.compared) != 0) names.differing.push_back(i);
    }
    // One whose path fits no page is left as it is.
    names.compared = sent ? names.asked_until : names.compared + 1;
  } else {
    if (sent) ++names.part;
    if (names.part >= names.parts) {
      names.differing.pop_back();
      names.parts = 1;
      names.part = 0;
    }
  }
  if (!refused && (names.compared < names.sums.size() || !names.differing.empty())) return true;
  source_.plan_.settle_last(names);
  work = {};
  return false;
}

bool SourceWorker::settle_batch(Work& work, Packer::Packed packed) {
  if (source_.sums_ != nullptr) source_.sums_->add(std::move(packed.sums));
  source_.counters_.files += packed.files;
  source_.counters_.directories += packed.directories;
  source_.counters_.others += packed.others;
  source_.counters_.bytes += packed.content_bytes;
  const bool last = source_.plan_.settle_batch(work.batch);
  if (last) work.batch = {};
  return !last;
}

void SourceWorker::settle_open(Work& work, AckStatus status) {
  OpenAnswer answer = open_answer(status);
  answer.written_in_place = source_.job_.settings.inplace;
  if (!answer.usable) work.file->close();
  if (!answer.usable && !answer.cannot_compare) source_.plan_.linked().pass_on(work.file->item());
  source_.plan_.opened(work.file, answer);
  work.file.reset();
}

bool SourceWorker::settle_extent(Work& work, const Chunk& chunk, AckStatus status) {
  if (status == AckStatus::unsupported) {
    source_.plan_.return_extent(work);
    work.file.reset();
    return false;
  }
  const bool sent = chunk.state == Chunk::State::ready && status == AckStatus::done;
  PieceAnswer answer;
  answer.failed = !sent && chunk.state != Chunk::State::nothing;
  if (sent) {
    answer.settled_bytes = work.extent.length;
    source_.counters_.bytes += work.extent.length;
  }
  if (sent && chunk.frame.kind == FrameKind::data) answer.data = &chunk.frame;
  if (source_.plan_.settle_extent(work, answer)) return true;
  work.file.reset();
  return false;
}

}  // namespace rdcp::tree
