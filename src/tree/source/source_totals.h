// Counts what a source has settled so far, for the progress line and for the result.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/stream/stream.h"
#include "tree/messages/message.h"
#include "tree/messages/stage_times.h"
#include "tree/messages/sum_line.h"

namespace rdcp::tree {

// The counts of one archive chunk, which are added when it is settled.
struct Packed {
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t others = 0;
  std::uint64_t content_bytes = 0;
  std::vector<SumLine> sums;  // lines with digests, if they are wanted
};

// Thread-safe.
class SourceTotals {
 public:
  void count_packed(const Packed& packed) {
    files_ += packed.files;
    directories_ += packed.directories;
    others_ += packed.others;
    bytes_ += packed.content_bytes;
  }
  // Counts a large file that has its name at the target. surplus: bytes sent though the target had them.
  void count_file(std::uint64_t surplus) {
    ++files_;
    bytes_ -= surplus;
  }
  // Counts bytes of a large file; `kept` of them the target had already.
  void count_bytes(std::uint64_t bytes, std::uint64_t kept = 0) {
    bytes_ += bytes;
    kept_bytes_ += kept;
  }
  // Takes back the bytes of a file that begins anew.
  void take_back(std::uint64_t bytes, std::uint64_t kept) {
    bytes_ -= bytes;
    kept_bytes_ -= kept;
  }
  void count_resent() { ++resent_chunks_; }
  // Counts the payload of a chunk that was answered, before it was packed.
  void count_arrived(std::uint64_t bytes) { arrived_bytes_ += bytes; }
  std::uint64_t arrived_bytes() const { return arrived_bytes_; }
  // Sets the path that the progress line shows.
  void show_path(std::string path) {
    const std::lock_guard lock(mutex_);
    path_ = std::move(path);
  }

  // Adds the times and counters of a worker that has ended.
  void add_worker(const StageTimes& times, const net::StreamCounters& sent, std::string ring) {
    wire_bytes_ += sent.wire_bytes + sent.frames * net::kFrameBytes;
    const std::lock_guard lock(mutex_);
    done_.times.read_busy_ns += times.read_busy_ns;
    done_.times.read_wait_ns += times.read_wait_ns;
    done_.times.digest_ns += times.digest_ns;
    done_.times.idle_ns += times.idle_ns;
    done_.times.away_ns += sent.times.credit_ns + sent.times.send_ns + times.away_ns;
    done_.payload_bytes += sent.payload_bytes;
    done_.packed_bytes += sent.wire_bytes;
    done_.ring = std::move(ring);
  }
  void expect_streams(std::size_t count) {
    const std::lock_guard lock(mutex_);
    done_.streams.resize(count);
  }
  void describe_stream(std::size_t index, std::string words, bool sealed) {
    const std::lock_guard lock(mutex_);
    if (done_.streams.size() <= index) done_.streams.resize(index + 1);
    done_.streams[index] = std::move(words);
    done_.encrypted = sealed && !in_clear_;
    in_clear_ = !done_.encrypted;
  }
  void set_complete(bool complete) {
    const std::lock_guard lock(mutex_);
    done_.complete = complete;
  }

  // Returns the progress, without the fields that only the plan knows.
  Progress progress() const {
    const std::lock_guard lock(mutex_);
    Progress progress;
    progress.bytes_done = bytes_;
    progress.files_done = files_ + others_;
    progress.path = path_;
    return progress;
  }
  Done done() const {
    const std::lock_guard lock(mutex_);
    Done done = done_;
    done.files = files_;
    done.directories = directories_;
    done.others = others_;
    done.bytes = bytes_;
    done.resent_chunks = resent_chunks_;
    done.kept_bytes = kept_bytes_;
    done.wire_bytes = wire_bytes_;
    return done;
  }

 private:
  bool in_clear_ = false;  // a stream was not sealed
  // Relaxed order would be enough, since each is read alone.
  std::atomic<std::uint64_t> files_{0}, directories_{0}, others_{0}, bytes_{0}, resent_chunks_{0};
  std::atomic<std::uint64_t> kept_bytes_{0};  // the part of bytes_ that the target had and was not sent
  std::atomic<std::uint64_t> wire_bytes_{0};  // frames and payloads
  std::atomic<std::uint64_t> arrived_bytes_{0};

  mutable std::mutex mutex_;  // guards the members below
  std::string path_;
  Done done_;
};

}  // namespace rdcp::tree
