// The parts of an agent report here what goes wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "io/result.h"
#include "tree/messages/message.h"

namespace rdcp::tree {

// Hands problems to a sink (the control channel), and of those that end the run only the first. Thread-safe.
class Reporter {
 public:
  explicit Reporter(std::function<void(const Problem&)> sink) : sink_(std::move(sink)) {}

  // Reports a path that could not be read or written. The run goes on with the rest.
  void problem(const io::Error& error) {
    ++problems_;
    sink_(problem_of(error, false));
  }
  // The number of such problems so far.
  std::uint64_t problems() const { return problems_; }
  // Reports a problem that ends the run. Only the first one is passed on, because the others follow from it.
  // Returns true for that one.
  bool fatal(const io::Error& error) {
    if (fatal_.exchange(true)) return false;
    sink_(problem_of(error, true));
    return true;
  }
  // Suppresses further fatal problems after an abort: the other side has reported the cause.
  void silence() { fatal_ = true; }
  // Starts another job: the first problem that ends it is passed on again.
  void begin_anew() { fatal_ = false; }

 private:
  static Problem problem_of(const io::Error& error, bool ends_run) {
    const bool is_path = error.kind == io::ErrorKind::file || error.kind == io::ErrorKind::digest;
    return {.kind = error.kind,
            .ends_run = ends_run,
            .text = error.message(),
            .path = is_path ? error.subject : std::string(),
            .code = static_cast<std::uint32_t>(error.code)};
  }

  std::function<void(const Problem&)> sink_;
  std::atomic<std::uint64_t> problems_{0};
  std::atomic<bool> fatal_{false};
};

}  // namespace rdcp::tree
