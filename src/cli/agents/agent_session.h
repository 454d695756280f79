// A coordinator's conversation with one agent.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/agents/message_handlers.h"
#include "cli/agents/rejoiner.h"
#include "cli/options/remote_shell.h"
#include "cli/places/location.h"
#include "io/result.h"
#include "tree/agent/agent.h"
#include "tree/guards/answers.h"
#include "tree/messages/check_job.h"
#include "tree/messages/hello.h"
#include "tree/messages/message.h"
#include "tree/protocol/control.h"

namespace rdcp::cli {

// Made by a start function or of_connection(), ended by end(). What the agent says goes to handlers. A
// message is a protocol error if the agent was not asked for it, or if it has no handler; only the hello and
// signs of life (progress, beats, Suspend) need none. Not thread-safe.
class AgentSession {
 public:
  using Clock = std::chrono::steady_clock;
  using Started = io::Result<std::unique_ptr<AgentSession>>;

  // Starts an agent on another host by `ssh HOST rdcp --agent` or the like. prefix is put before each line of
  // its standard error; if empty, it is "HOST: ssh: ", or "HOST: " where --rsh is not ssh.
  static Started start_remote(const RemoteShell& shell, const Location& location,
                              const std::string& prefix = {});
  // Starts an agent as another process of this program on this host. prefix: as above; if empty, the agent
  // has our standard error. landlock: see AgentConfig.
  static Started start_beside(const std::string& prefix, bool landlock);
  // Starts an agent as a copy of this process (fork_agent.h). To be called before other agents are started.
  static Started start_local(tree::AgentConfig config);
  // Starts an agent as a thread of this process.
  static Started start_thread(tree::AgentConfig config);
  // Takes over a connection to an agent that somebody else has started. gone: why, when it is lost.
  static Started of_connection(io::Fd socket, const std::string& host, const std::string& gone,
                               const std::optional<net::SealKeys>& seal = {});
  ~AgentSession() { end(true); }

  // Sets the handler of a kind of message.
  template <class Message>
  void on(std::function<void(Message&)> handler) {
    handlers_.set<Message>(
        [handler](Message& message, auto&) { return handler(message), io::Result<void>(); });
  }
  // Puts messages of a kind into an inbox, which must outlive this. One that finds it full is an error.
  template <class Message>
  void collect(Inbox<Message>& inbox) {
    handlers_.set<Message>([this, &inbox](Message& message, auto& raw) -> io::Result<void> {
      if (inbox.add(std::move(message), raw.body.size())) return {};
      return refused(raw, "comes faster than it can be taken");
    });
  }

  // Sends a message, and notes which answers it permits. If the agent takes nothing for tree::kSilenceMax,
  // the session is over, and send_failure() says so. An agent that is gone shows only when it is read from.
  template <class Message>
  void tell(const Message& message) {
    std::uint64_t answers = 1;
    if constexpr (std::is_same_v<Message, tree::ListMore>) answers = message.pages;
    answers_.ordered(Message::kType, answers);
    note_sent(control_->send(message));
  }
  // Sets another limit than tree::kSilenceMax for tell().
  void limit_sends(std::chrono::milliseconds limit) { control_->limit_sends(limit); }
  // Returns the error (connection) of a message that the agent did not take in time, or nothing.
  const std::optional<io::Error>& send_failure() const { return send_failure_; }
  // Closes the sending side, so that the agent sees the end.
  void close_out() { control_->close_out(); }

  void explain_problems() { explains_problems_ = true; }  // asks for path and errno of each; before the hello
  // Rejoins the agent when the connection to it is lost. To be set up before the hello.
  Rejoiner& rejoiner() { return rejoiner_; }
  // True while it tries to. No sign of life is expected then.
  bool away() const { return rejoiner_.away(); }
  // Looks what has come of the tries. Error: they are over; it is that of the lost connection.
  io::Result<void> try_to_rejoin();
  // Begins such tries, if the agent can be rejoined. silent: the connection is not lost for sure.
  bool outlast_loss(const io::Error& lost, bool silent);

  // The descriptor that poll(2) must watch before receive() is called; -1: none at the moment.
  int fd() const { return away() ? rejoiner_.fd() : control_->fd(); }
  // Reads what has arrived, and calls the handlers. Error: the agent is gone, or what it says makes no sense.
  io::Result<void> receive();
  void hear_last_words();  // reads what has arrived after Abort, and drops it, but for a Ledger
  // Explains the error of receive(). If the agent is gone before its hello, its exit status and output tell
  // why; its process is waited for then, at most 3 s.
  io::Error explain(const io::Error& error);

  // Returns the agent's hello, or nothing if it has not said it yet.
  const std::optional<tree::Hello>& hello() const { return hello_; }
  const std::string& name() const { return name_; }  // "HOST" or "this host"
  std::string host_elsewhere() const;                // the same, but nothing if it is this host
  std::string problem_prefix() const;                // "HOST: ", or nothing
  bool remote() const { return run_.is_process() || gone_because_; }
  // True while ssh is on its way to the agent, and may ask its user for a password.
  bool may_ask() const { return run_.can_bridge() && !hello_ && !gone_; }
  // True if receive() has failed, or a message could not be sent.
  bool gone() const { return gone_; }
  // True if its user has stopped it, so that it neither says nor hears anything.
  bool suspended() const { return suspended_; }

  Clock::duration silence() const;  // since the last sign of life; zero if the agent need give none
  // From now on the agent need not give any sign of life: it has said its last word.
  void allow_silence() { may_be_silent_ = true; }
  // Begins the silence anew, after a time in which this process did not listen.
  void excuse_silence() { heard_ = Clock::now(); }
  // True if the agent has no process, or its process has ended by itself.
  bool has_ended() { return run_.has_ended() && rejoiner_.has_ended(); }
  const AgentRun& run() const { return run_; }  // may start bridges
  // Sends SIGSTOP or SIGCONT to an agent that is a copy of this process.
  void signal_copy(int signal) { run_.signal_fork(signal); }
  // Ends the agent; by SIGTERM and SIGKILL if by_force or if it does not end in time. Idempotent.
  void end(bool by_force);

 private:
  explicit AgentSession(std::string name) : name_(std::move(name)) {}
  void connect(AgentRun::Ends ends, const std::optional<net::SealKeys>& seal = {});
  io::Result<void> start_anew();
  io::Result<void> take(const tree::RawMessage& raw);
  io::Result<void> take_hello(const tree::RawMessage& raw);
  io::Error refused(const tree::RawMessage& raw, const std::string& why) const;
  void note_sent(const io::Result<void>& sent);
  void say_goodbye();
  const std::string name_;
  AgentRun run_;
  Rejoiner rejoiner_{run_};
  std::optional<tree::ControlChannel> control_;
  tree::Answers answers_;
  MessageHandlers handlers_;
  std::optional<tree::Hello> hello_;
  std::optional<io::Error> send_failure_, not_put_;  // not_put_: why no agent could be put on the other host
  Clock::time_point heard_ = Clock::now();
  std::size_t losses_ = 0, stream_messages_ = 0;  // how often it has told of lost streams, and of others
  bool explains_problems_ = false, gone_ = false, suspended_ = false, may_be_silent_ = false;
  std::optional<std::string> gone_because_;  // why, if of_connection() has made this
};

}  // namespace rdcp::cli
