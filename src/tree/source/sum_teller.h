// Tells the digests of the files that a source copied.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tree/messages/sum_line.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// Makes the line of a digest list for an entry that is copied with this content.
SumLine line_of(const Entry& entry, std::span<const std::byte> content);

// Gathers lines of several threads into messages: add() and finish() are thread-safe, and set_top() comes
// before them. A hard link gets the digest of its file;
// memory is bounded by the number of files with several names.
class SumTeller {
 public:
  using Sink = std::function<void(const Sums&)>;
  explicit SumTeller(Sink sink) : sink_(std::move(sink)) {}
  // Has paths beneath `top` told relative to it.
  void set_top(std::string top) { top_ = std::move(top); }
  void add(std::vector<SumLine> lines);
  // Tells what is left. Called after the last add().
  void finish();

 private:
  void flush();

  const Sink sink_;
  std::string top_;
  std::mutex mutex_;
  Sums gathered_;
  std::size_t gathered_bytes_ = 0;
  std::map<std::string, SumLine> linked_;  // by Entry::path
};

}  // namespace rdcp::tree
