// The event loop of every coordinator: sessions with agents, signals, and the clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/agents/agent_session.h"
#include "io/result.h"
#include "tree/agent/agent.h"
#include "tree/messages/message.h"

namespace rdcp::cli {

// Decides for a coordinator what follows from what its loop finds. All of these are called by
// SessionLoop::turn().
class SessionUser {
 public:
  virtual ~SessionUser() = default;

  // The agent has reported a problem.
  virtual void hear_problem(AgentSession& session, const tree::Problem& problem) = 0;
  // The connection to the agent has ended, or the agent has broken the protocol. AgentSession::explain()
  // turns the error into one for the user.
  virtual void lose(AgentSession& session, const io::Error& error) = 0;
  // The run cannot go on, for example because an agent has been silent for too long.
  virtual void fail(const io::Error& error) = 0;
  // The agent has been silent, or has taken nothing, for too long.
  virtual void fall_silent(AgentSession& session, const io::Error& error) {
    (void)session;
    fail(error);
  }
  // A signal came that is to end the program.
  virtual void end_by_signal(int signal) = 0;
  // Ctrl-Z: this process is about to be stopped. The agents know already.
  virtual void about_to_stop() {}
};

// How long an agent may give no sign of life.
struct SilenceLimits {
  std::chrono::milliseconds before_hello;
  std::chrono::milliseconds after_hello = tree::kSilenceMax;
};
// Returns the usual limits. The one before the hello is longer if there is a terminal, on which somebody may
// still be typing a password.
SilenceLimits silence_limits();

struct LoopSettings {
  int signal_fd = -1;  // signalfd(2); -1: none
  SilenceLimits limits = silence_limits();
  std::chrono::milliseconds beat_interval = tree::kBeatInterval;
  std::string silence = "no answer";  // what is said of a silent agent, before " for 25 s"
};

// Waits for any number of agents at once. Not thread-safe.
class SessionLoop {
 public:
  // user must outlive this.
  SessionLoop(LoopSettings settings, SessionUser& user) : settings_(std::move(settings)), user_(user) {}

  // Adds a session, which must outlive the last turn.
  void add(AgentSession& session);
  // Takes one out again. Not to be called within a turn.
  void remove(const AgentSession& session) { std::erase(sessions_, &session); }
  const std::vector<AgentSession*>& sessions() const { return sessions_; }
  // Has ready() called whenever a descriptor becomes readable. fd() returns the descriptor, or -1 while there
  // is none.
  void watch(std::function<int()> fd, std::function<void()> ready) { watched_.push_back({fd, ready}); }

  // Waits at most max_wait for something to happen, and deals with it: calls what is watched, has sessions
  // call their handlers, takes a signal, tells the user of lost and silent agents, and sends beats. Returns
  // false if the loop has ended.
  bool turn(std::chrono::milliseconds max_wait);
  // Runs turns until done() holds. Returns false if the loop has ended before.
  bool turn_until(const std::function<bool()>& done, std::chrono::milliseconds max_wait);
  // Runs turns until no ssh asks its user for a password any more, where there is somebody to ask, so that
  // two hosts never ask at once. To be called before a further agent is started. Returns false if the loop
  // has ended before, or given_up() has become true.
  bool await_logins(const std::function<bool()>& given_up = [] { return false; });
  // True if one more agent may be started: no more than kLoginsMax sessions of ssh shake hands at a time.
  bool has_room_for_login() const;
  static constexpr std::ptrdiff_t kLoginsMax = 32;
  // True for an agent that has neither come nor gone.
  static bool is_coming(const AgentSession* session) { return !session->hello() && !session->gone(); }
  // Ends the loop. To be called by the user; the turn that is under way calls the user no more.
  void end() { ended_ = true; }

  // Sends a message to each agent that is not gone.
  template <class Message>
  void tell_all(const Message& message) {
    for (AgentSession* session : sessions_) {
      if (!session->gone()) session->tell(message);
    }
  }
  // Reads and drops what remote agents still say, until each of them has closed its side. Waits at most
  // `grace`.
  void await_goodbyes(std::chrono::milliseconds grace);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::function<int()> fd;
    std::function<void()> ready;
  };

  void take_signal();
  void stop_until_continued();
  void receive(AgentSession& session);
  void check(AgentSession& session);
  void send_beats();

  const LoopSettings settings_;
  SessionUser& user_;
  std::vector<AgentSession*> sessions_;
  std::vector<Watched> watched_;
  Clock::time_point next_beat_;
  bool ended_ = false;
};

}  // namespace rdcp::cli
