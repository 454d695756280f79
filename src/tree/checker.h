// An agent's part of a check: lists what is there and tells digests of it. Writes nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "io/thread.h"
#include "tree/check_job.h"
#include "tree/control.h"
#include "tree/lister.h"
#include "tree/reporter.h"

namespace rdcp::tree {

// Answers come from threads of its own: one that lists, and several that read. Small files are read for the
// pages of the list that they are on.
class Checker {
 public:
  struct Sinks {
    std::function<void(const Listed&)> listed;
    std::function<void(const SumTold&)> told;
  };
  // Errors of the job itself are reported, and then the list is empty; threads that cannot be started are
  // fatal where none is left.
  Checker(const ListJob& job, Reporter& reporter, Sinks sinks);
  ~Checker();  // stops, and waits for what is being read

  void list_more(std::uint32_t pages);
  // False: more than any coordinator has under way.
  bool ask(SumAsk ask);
  void stop();
  // After stop(): false while something still hangs in the kernel (a dead network filesystem).
  bool has_ended(std::chrono::steady_clock::time_point deadline);

  static constexpr std::size_t kAsksMax = 4096;

 private:
  // On its way to the coordinator, behind those before it.
  struct Page {
    Listed listed;
    bool read = false;
  };

  template <class Life>
  bool start(Life life);
  void list();
  void leave();
  void read();
  void read_page(Page& page, std::span<std::byte> buffer);
  void tell_pages();
  void answer(const SumAsk& ask, std::span<std::byte> buffer);
  bool may_list();
  // What is to come from the disk is asked for.
  bool reads_pages() const { return job_.digests && job_.cache != io::CacheMode::bypass; }
  bool digest_small(ListedEntry& entry, LookedAt::Reader& reader, std::span<std::byte> buffer);
  SumFound look(const SumItem& item, std::optional<LookedAt::Reader>& reader, std::span<std::byte> buffer);
  void digest_file(const SumItem& item, int fd, std::span<std::byte> buffer, SumFound& found);
  bool digest_range(const io::RingFile& file, std::uint64_t offset, std::uint64_t length,
                    std::span<std::byte> buffer, io::RunningDigest& digest, std::uint64_t& done);

  const ListJob job_;
  Reporter& reporter_;
  const Sinks sinks_;
  NameTable names_{[this](const io::Error& error) { reporter_.problem(error); }};
  std::optional<LookedAt> top_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable work_;  // for one reader
  std::deque<SumAsk> asks_;
  std::uint64_t may_tell_ = 0;  // pages
  std::deque<Page> pages_;      // in the list's order; they stay where they are
  std::deque<Page*> to_read_;   // of them
  bool telling_ = false;
  std::size_t left_ = 0;  // threads that are at their end
  std::atomic<bool> stopped_{false};
  std::vector<io::Thread> threads_;
};

// Where an agent takes the messages of a check (is_check()), and answers them.
class CheckDesk {
 public:
  CheckDesk(ControlChannel& control, Reporter& reporter) : control_(control), reporter_(reporter) {}

  // Something is looked at, or was.
  bool begun() const { return checker_ != nullptr; }
  // False: it makes no sense, reported.
  bool handle(const RawMessage& raw);
  void stop() {
    if (checker_) checker_->stop();
  }
  bool has_ended(std::chrono::steady_clock::time_point deadline) {
    return !checker_ || checker_->has_ended(deadline);
  }

 private:
  template <class Message>
  bool decode(const RawMessage& raw, Message& message);

  ControlChannel& control_;
  Reporter& reporter_;
  std::unique_ptr<Checker> checker_;
};

}  // namespace rdcp::tree
