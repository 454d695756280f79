// The stream between two neighbours of a pipeline: a copy with a coordinator of its own, in a thread.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/coordinator.h"
#include "cli/options.h"
#include "io/fd.h"

namespace rdcp::cli {

class Hop {
 public:
  struct Problem {
    io::ErrorKind kind = io::ErrorKind::connection;
    std::string text;
  };

  // `from` and `to` for messages. wake_fd: an eventfd(2) that is written to when it is over.
  Hop(std::string from, std::string to, int wake_fd)
      : from_(std::move(from)), to_(std::move(to)), wake_fd_(wake_fd) {}
  ~Hop();
  Hop(const Hop&) = delete;
  Hop& operator=(const Hop&) = delete;

  io::Result<void> start(const Options& options, Parties parties);
  // Ends it, as a signal would.
  void stop();

  const std::string& from() const { return from_; }
  const std::string& to() const { return to_; }
  bool over() const { return over_; }
  bool stopped() const { return stopped_; }
  // What reads the stream has closed it before its end: no fault, as in a shell. Any time.
  bool reader_gone() const { return reader_gone_; }
  // After over().
  bool whole() const { return status_ == 0; }
  // What went wrong first, if anything did but a reader that is gone.
  std::optional<Problem> problem() const;
  const std::optional<Summary>& outcome() const { return outcome_; }

 private:
  void take_problem(io::ErrorKind kind, const std::string& text);

  const std::string from_;
  const std::string to_;
  const int wake_fd_;
  io::Fd stop_read_;
  io::Fd stop_write_;
  std::thread thread_;
  int status_ = -1;
  bool stopped_ = false;
  std::optional<Summary> outcome_;
  std::atomic<bool> over_{false};
  std::atomic<bool> reader_gone_{false};
  mutable std::mutex mutex_;  // of what follows
  std::optional<Problem> problem_;
};

}  // namespace rdcp::cli
