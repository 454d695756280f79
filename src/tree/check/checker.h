// An agent's part of a check: it lists what is there and computes digests of it. It writes nothing.
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
#include "tree/check/lister.h"
#include "tree/messages/check_job.h"
#include "tree/messages/source_wishes.h"
#include "tree/protocol/control.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// Answers come from threads of its own: one that lists, and several that read. The readers also read small
// files, and what is not in a stat, for the pages of the list.
class Checker {
 public:
  struct Sinks {
    std::function<void(const Listed&)> listed;
    std::function<void(const SumTold&)> told;
    std::function<void(const Unlisted&)> unlisted = [](const Unlisted&) {};
  };
  // If the job's path is missing, that is reported and the list is empty; any other error in opening it is
  // fatal. It is also fatal if not even one lister and one reader can be started.
  // wishes: what the user wants beyond the job.
  Checker(const ListJob& job, Reporter& reporter, Sinks sinks, const SourceWishes& wishes = {});
  ~Checker();  // stops, and waits for reads that are under way

  void list_more(std::uint32_t pages);
  // Returns false if there are more than kAsksMax, which no coordinator has under way.
  bool ask(SumAsk ask);
  void stop();
  // Waits after stop() until all threads have ended or the deadline passes. Returns false if something still
  // hangs in the kernel (a dead network filesystem).
  bool has_ended(std::chrono::steady_clock::time_point deadline);

  static constexpr std::size_t kAsksMax = 4096;

 private:
  // A page on its way to the coordinator, to be sent after those before it.
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
  // With CacheMode::bypass no files are read for pages; the coordinator asks for their digests.
  bool digests_small() const { return job_.digests && job_.cache != io::CacheMode::bypass; }
  bool reads_pages() const { return digests_small() || job_.attributes; }
  void fill_attributes(ListedEntry& entry, LookedAt::Reader& reader, int fd);
  bool digest_small(ListedEntry& entry, int fd, std::span<std::byte> buffer);
  SumFound look(const SumItem& item, std::optional<LookedAt::Reader>& reader, std::span<std::byte> buffer);
  void digest_file(const SumItem& item, int fd, std::span<std::byte> buffer, SumFound& found);
  std::optional<std::uint64_t> digest_extent(const io::RingFile& file, io::Extent extent,
                                             std::span<std::byte> buffer, io::RunningDigest& digest);

  const ListJob job_;
  const MetadataPolicy policy_;
  Reporter& reporter_;
  const Sinks sinks_;
  NameTable names_{[this](const io::Error& error) { reporter_.problem(error); }};
  std::optional<LookedAt> top_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable work_;  // wakes one reader
  std::deque<SumAsk> asks_;
  std::uint64_t may_tell_ = 0;  // how many pages may be sent
  std::deque<Page> pages_;      // in the list's order; the pages keep their addresses
  std::deque<Page*> to_read_;   // those of them that are to be read
  bool telling_ = false;
  std::size_t left_ = 0;  // threads that have ended
  std::atomic<bool> stopped_{false};
  std::vector<io::Thread> threads_;
};

// Takes the messages of a check (is_check()) for an agent, and answers them.
class CheckDesk {
 public:
  CheckDesk(ControlChannel& control, Reporter& reporter) : control_(control), reporter_(reporter) {}

  // True once a job has come.
  bool begun() const { return checker_ != nullptr; }
  // Returns false if the message makes no sense. If it cannot be decoded, that has been reported.
  bool handle(const RawMessage& raw);
  // Notes what the user wants beyond the jobs that come from now on.
  void take(const SourceWishes& wishes) { wishes_ = wishes; }
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
  SourceWishes wishes_;
  std::unique_ptr<Checker> checker_;
};

}  // namespace rdcp::tree
