// Asks agents something without a copy: --doctor, --clean.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/agents/session_loop.h"
#include "io/result.h"

namespace rdcp::cli {

// Holds the sessions of an inquiry. Not thread-safe.
class Inquiry final : public SessionUser {
 public:
  // signal_fd: as for Coordinator. what: the operation that errors name, for example "examine".
  Inquiry(int signal_fd, std::string what) : what_(std::move(what)), loop_({.signal_fd = signal_fd}, *this) {}

  // Sets another operation for errors.
  void now(std::string what) { what_ = std::move(what); }
  // Takes a session over. The reference is valid as long as this.
  AgentSession& add(std::unique_ptr<AgentSession> session);
  // Has problems that agents report go to `hear`. Without this call a problem is an error of wait_until().
  void on_problem(std::function<void(const AgentSession&, const tree::Problem&)> hear) {
    hear_problem_ = std::move(hear);
  }

  // Waits until done() holds. Errors: a signal (interrupted), an agent is gone or has been silent for too
  // long, a problem, or an error that was given to fail() meanwhile.
  io::Result<void> wait_until(const std::function<bool()>& done);
  // Ends the agents; by force unless completed.
  void end(bool completed);

  // The signal that ended the inquiry; 0: none.
  int signal() const { return signal_; }
  // Print on standard output and standard error.
  io::Result<void> print(std::string_view text);
  void print_problem(std::string_view text);

  void hear_problem(AgentSession& session, const tree::Problem& problem) override;
  void lose(AgentSession& session, const io::Error& error) override { fail(session.explain(error)); }
  void fail(const io::Error& error) override;
  void end_by_signal(int signal) override;

 private:
  std::string what_;
  SessionLoop loop_;
  std::vector<std::unique_ptr<AgentSession>> sessions_;
  std::function<void(const AgentSession&, const tree::Problem&)> hear_problem_;
  std::optional<io::Error> error_;  // the first of the present wait
  int signal_ = 0;
};

}  // namespace rdcp::cli
