// The process or thread of an agent that this process has started.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/agents/delivery.h"
#include "cli/launch/bridge.h"
#include "cli/launch/launch.h"
#include "cli/launch/line_pipe.h"
#include "cli/launch/shared_session.h"
#include "cli/launch/way_in.h"
#include "cli/options/remote_shell.h"
#include "cli/places/location.h"
#include "io/fd.h"
#include "io/result.h"
#include "io/thread.h"
#include "net/sockets/address.h"
#include "tree/agent/agent.h"

namespace rdcp::cli {

// The word after --agent that has a program of rdcp's be rdpipe, whose agent runs a segment on this host.
inline constexpr const char* kOfRdpipe = "--segment";

// Returns how an agent on this host is confined: as `wanted`, or not at all with --no-landlock.
inline tree::Confinement confinement(const RemoteShell& shell, tree::Confinement wanted) {
  return shell.landlock ? wanted : tree::Confinement::none;
}

// One of the start functions is called once, or none if somebody else has started the agent. Not thread-safe.
class AgentRun {
 public:
  // Our ends of the agent's control channel.
  struct Ends {
    io::Fd in;
    io::Fd out;
  };
  // These are what the functions of the same names of AgentSession say.
  io::Result<Ends> start_remote(const RemoteShell& shell, const Location& location,
                                const std::string& prefix);
  // Starts the agent anew, after start_remote() has found one of another version: this time only one that
  // rdcp has put there, or puts there now.
  io::Result<Ends> start_ours();
  // True if that can be done.
  bool can_start_ours() const;
  // Does what the way in (cli/launch/way_in.h) asks for by this line: sends an agent to descriptor `out`.
  io::Result<void> answer_ask(std::string_view line, int out);
  // Returns when the other host has last taken some of an agent that is sent to it, if one is.
  std::optional<Delivery::Clock::time_point> delivered() const {
    return delivery_ ? std::optional(delivery_->taken()) : std::nullopt;
  }

  // True if bridges can be started to the agent's host: start_remote() has started it.
  bool can_bridge() const { return origin_ && origin_->location.kind == Location::Kind::remote; }
  // Starts one more session to the agent's host (bridge.h), which joins this connection to `at` there. ssh
  // asks for no password: the user is somewhere else by now. Where a login of its own fails, it shares the
  // first one's. May be called by any thread once the agent has said hello.
  io::Result<std::unique_ptr<Bridge>> start_bridge(const net::Address& at, io::Fd connection,
                                                   Login login) const;
  // True if start_rejoin() can replace a connection that is lost: ssh has started the agent. (What else
  // may have, is not known to leave the agent alone when the user presses Ctrl-C.)
  bool can_rejoin() const { return can_bridge() && runs_ssh(origin_->shell); }
  // Does the same to the socket where the agent waits (net/sockets/user_socket.h). quiet: what ssh says is
  // dropped.
  io::Result<std::unique_ptr<Bridge>> start_rejoin(const std::string& rejoin_socket, io::Fd connection,
                                                   bool quiet) const;
  // Ends the process, whose connection is lost. Returns its exit status if it ends by itself within `limit`.
  std::optional<int> leave_process(std::chrono::milliseconds limit);

  io::Result<Ends> start_beside(const std::string& prefix, bool landlock);
  io::Result<Ends> start_local(tree::AgentConfig config);
  io::Result<Ends> start_thread(tree::AgentConfig config);

  // True if the agent is or was a process, and another program than this one, which may fail to start.
  bool is_program() const { return origin_.has_value(); }
  // True if the agent is or was a process.
  bool is_process() const { return is_program() || forked_; }
  // Stops a process of start_local(), or lets it go on, together with this one: SIGSTOP or SIGCONT. Others
  // are not stopped: what they are must be told.
  void signal_fork(int signal);
  // True if the agent has no process, or its process has ended by itself.
  bool has_ended();
  // Explains why a process has sent no hello. Its exit status and output tell why; it is waited for, at most
  // 3 s unless it has made noise instead.
  io::Error explain(const std::string& noise);
  // Ends the process by SIGTERM and SIGKILL if by_force, or if it does not end by itself within 3 s. To be
  // called after our sending end is closed.
  void end_process(bool by_force);
  // Waits for the thread. To be called after both our ends are closed: the agent sees that, and ends within a
  // time that it bounds itself.
  void join_thread() { thread_.join(); }
  bool is_thread() const { return thread_.joinable(); }

 private:
  struct Origin {  // how the process was started
    RemoteShell shell;
    Location location;
    std::string prefix = {};
    Search search = Search::everywhere;
  };
  io::Result<Ends> launch_remote();
  WayIn way_in_to_it() const;
  BridgeCommand further_session(const std::string& to, RemoteShell shell) const;
  io::Result<Ends> launch(const std::vector<std::string>& command, const std::string& prefix);

  std::optional<Origin> origin_;
  std::optional<SharedSession> shared_;  // set if the process shares its connection with bridges
  pid_t pid_ = -1;                       // until it has been seen to end
  std::unique_ptr<LinePipe> lines_;      // prints the process's standard error
  bool forked_ = false;                  // by start_local()
  std::unique_ptr<Delivery> delivery_;
  io::Thread thread_;
};

}  // namespace rdcp::cli
