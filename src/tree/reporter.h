// Where an agent's parts say what went wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "io/result.h"
#include "tree/message.h"

namespace rdcp::tree {

// Thread-safe. Hands problems to a sink (the control channel) and remembers the first that ends the run.
class Reporter {
 public:
  explicit Reporter(std::function<void(const Problem&)> sink) : sink_(std::move(sink)) {}

  // A path that could not be read or written; the rest goes on.
  void problem(const io::Error& error) {
    ++problems_;
    sink_({error.kind, false, error.message()});
  }
  // How many there have been.
  std::uint64_t problems() const { return problems_; }
  // What ends the run: only the first is told, what follows from it is not. True for that one.
  bool fatal(const io::Error& error) {
    if (fatal_.exchange(true)) return false;
    sink_({error.kind, true, error.message()});
    return true;
  }
  // Silences what comes after an abort: the other side has told the cause.
  void silence() { fatal_ = true; }
  // Another job begins: the first that ends it is told again.
  void begin_anew() { fatal_ = false; }

 private:
  std::function<void(const Problem&)> sink_;
  std::atomic<std::uint64_t> problems_{0};
  std::atomic<bool> fatal_{false};
};

}  // namespace rdcp::tree
