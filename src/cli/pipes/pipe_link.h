// The stream between two neighbours of a pipeline: a copy with a coordinator of its own, in a thread.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "cli/copy/coordinator.h"
#include "cli/copy/copy_request.h"
#include "io/descriptors.h"
#include "io/fd.h"
#include "io/thread.h"

namespace rdcp::cli {

class PipeLink {
 public:
  struct Problem {
    io::ErrorKind kind = io::ErrorKind::connection;
    std::string text;
  };

  // `from` and `to` are names for messages. wake is signalled when the stream is over or there are remarks,
  // and outlives this.
  PipeLink(std::string from, std::string to, const io::Event& wake)
      : from_(std::move(from)), to_(std::move(to)), wake_(wake) {}
  ~PipeLink();
  PipeLink(const PipeLink&) = delete;
  PipeLink& operator=(const PipeLink&) = delete;

  // Starts the copy. Its view is set here: problems come to problem(), and nothing is printed.
  io::Result<void> start(CopyRequest request);
  // Ends the stream, as a signal would.
  void stop();

  const std::string& from() const { return from_; }
  const std::string& to() const { return to_; }
  bool over() const { return over_; }
  bool stopped() const { return stopped_; }
  // True if what reads the stream has closed it before its end, which is no failure, as in a shell. May be
  // called at any time.
  bool reader_gone() const { return reader_gone_; }
  // True, once over(), if all of the stream has arrived.
  bool whole() const { return status_ == 0; }
  // Returns what went wrong first, or nothing if that was a reader that is gone.
  std::optional<Problem> problem() const;
  const std::optional<Summary>& outcome() const { return outcome_; }
  // Returns, once, the lines that the user is to be told, such as that the data goes through ssh.
  std::string take_remarks();

 private:
  void take_problem(io::ErrorKind kind, const std::string& text);
  void take_remark(const std::string& line);

  const std::string from_;
  const std::string to_;
  const io::Event& wake_;
  io::Fd stop_read_;
  io::Fd stop_write_;
  io::Thread thread_;
  int status_ = -1;
  bool stopped_ = false;
  std::optional<Summary> outcome_;
  std::atomic<bool> over_{false};
  std::atomic<bool> reader_gone_{false};
  mutable std::mutex mutex_;  // guards the following
  std::optional<Problem> problem_;
  std::string remarks_;
};

}  // namespace rdcp::cli
