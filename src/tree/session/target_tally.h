// Counts what a target has done so far; its workers add to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "tree/messages/message.h"
#include "tree/streams/target_pace.h"

namespace rdcp::tree {

// Thread-safe.
class TargetTally {
 public:
  std::atomic<std::uint64_t> bytes{0};       // bytes of content that are in their place
  std::atomic<int> parts{0};                 // parts that were begun and not dropped
  std::atomic<bool> has_put{false};          // something has its name, or was written in place
  std::atomic<bool> lacks_locks{false};      // the target's filesystem has no file locks
  std::atomic<bool> read_from_cache{false};  // --verify could neither bypass nor empty the page cache
  TargetPace pace;

  // Notes that something was not read back as it came. The source sends it again, and gives up after some
  // tries.
  void note_misread(const std::string& subject);
  void add_times(const StageTimes& times);
  void describe_ring(const std::string& description);
  void describe_stream(std::size_t index, const std::string& description);

  // Returns the counts and descriptions, with a warning if something was misread.
  Done done() const;

 private:
  mutable std::mutex mutex_;
  Done done_;
  std::uint64_t misread_ = 0;
  std::string first_misread_;
};

}  // namespace rdcp::tree
