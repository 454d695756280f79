// Asks agents something without a copy: --doctor, --clean.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/agents/session_loop.h"
#include "io/result.h"

namespace rdcp::cli {

// Holds the sessions of an inquiry, which may be with several hosts: what happens to one session ends only
// the waits that are for it. Not thread-safe.
class Inquiry final : public SessionUser {
 public:
  // signal_fd: as for Coordinator. what: the operation that errors name, for example "examine".
  Inquiry(int signal_fd, std::string what) : what_(std::move(what)), loop_({.signal_fd = signal_fd}, *this) {}

  // Sets another operation for errors.
  void now(std::string what) { what_ = std::move(what); }
  // Takes a session over. The reference is valid as long as this.
  AgentSession& add(std::unique_ptr<AgentSession> session);
  // Ends a session early; by force unless completed. It is not to be used any more.
  void drop(AgentSession& session, bool completed);
  // The loop of all sessions.
  SessionLoop& loop() { return loop_; }
  // Has problems that agents report go to `hear`. Without this call a problem is an error of wait_until().
  void on_problem(std::function<void(const AgentSession&, const tree::Problem&)> hear) {
    hear_problem_ = std::move(hear);
  }

  // Waits until done() holds. Errors: a signal (interrupted), an agent is gone or has been silent for too
  // long, a problem, or an error that was given to fail() meanwhile.
  io::Result<void> wait_until(const std::function<bool()>& done);
  // Does the same for these sessions only.
  io::Result<void> wait_for(const std::vector<AgentSession*>& sessions, const std::function<bool()>& done);
  // Waits as long as nothing but done() ends it: what happens to sessions shows in failure_of(). Error: a
  // signal, or one that was given to fail().
  io::Result<void> wait_for_all(const std::function<bool()>& done) { return wait_for({}, done); }
  // Returns what has happened to a session since a wait for it began, or null.
  const io::Error* failure_of(const AgentSession& session) const;
  // Ends the agents; by force unless completed.
  void end(bool completed);

  // The signal that ended the inquiry; 0: none.
  int signal() const { return signal_; }
  // Print on standard output and standard error.
  io::Result<void> print(std::string_view text);
  void print_problem(std::string_view text);

  void hear_problem(AgentSession& session, const tree::Problem& problem) override;
  void lose(AgentSession& session, const io::Error& error) override;
  void fall_silent(AgentSession& session, const io::Error& error) override;
  void fail(const io::Error& error) override;
  void end_by_signal(int signal) override;

 private:
  std::string what_;
  SessionLoop loop_;
  std::vector<std::unique_ptr<AgentSession>> sessions_;
  std::function<void(const AgentSession&, const tree::Problem&)> hear_problem_;
  std::optional<io::Error> error_;                     // the first of the present wait that is of no session
  std::map<const AgentSession*, io::Error> failures_;  // the first of each session
  int signal_ = 0;
};

}  // namespace rdcp::cli
