// Rejoins an agent when the coordinator's connection to it is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/agents/agent_run.h"
#include "cli/launch/bridge.h"
#include "io/result.h"
#include "tree/messages/hello.h"
#include "tree/messages/rejoin.h"
#include "tree/protocol/control.h"

namespace rdcp::cli {

// Each try is one more session of ssh, which asks for no password. They go on until one comes through, the
// agent is known to have ended, or the time is over. Not thread-safe.
class Rejoiner {
 public:
  using Clock = std::chrono::steady_clock;
  using Told = std::function<void(const io::Error& lost)>;
  enum class State : unsigned char { trying, joined, in_vain };

  // run, which starts the agent, must outlive this.
  explicit Rejoiner(AgentRun& run) : run_(run) {}

  // Sets how long to try after each loss, and what is called with its cause after each success. Without this
  // call the agent is not rejoined.
  void set_up(std::chrono::seconds patience, Told told);
  // Returns what an agent that said this hello is to be told, or nothing if it cannot be rejoined.
  std::optional<tree::Stay> agree(const tree::Hello& hello);

  // The connection is lost; `received` is ControlChannel::received(). Returns false if its process ends
  // within `status_max` and says that the agent has ended, too.
  bool begin(const io::Error& lost, std::uint64_t received, std::chrono::milliseconds status_max);
  // Does the same where nothing has come over the connection for long: it is tried for a few seconds whether
  // the agent lives.
  bool begin_after_silence(const io::Error& silence, std::uint64_t received);
  // True from then until settle().
  bool away() const { return lost_.has_value(); }
  // The descriptor that poll(2) may watch before turn() is called; -1 if there is none at the moment.
  int fd() const { return channel_ ? channel_->fd() : -1; }
  // Looks what has come of the try that is under way, or begins one when it is time. Does not wait.
  State turn();
  // Once joined: the new connection, and how much the agent has received.
  tree::ControlChannel& channel() { return *channel_; }
  std::uint64_t agent_received() const { return agent_received_; }
  // Ends the tries, and returns the cause of the loss. joined: the session goes on over the new connection.
  io::Error settle(bool joined);

  // True unless a process carries the connection since.
  bool has_ended() { return !bridge_ || bridge_->wait(); }
  // Ends that process; at once if by_force or if it does not end in time.
  void end(bool by_force);

 private:
  void try_anew();
  State fail();

  AgentRun& run_;
  std::chrono::milliseconds patience_{0};
  Told told_;
  std::string socket_;              // where the agent waits
  std::unique_ptr<Bridge> bridge_;  // carries the connection, or the try that is under way
  std::optional<io::Error> lost_;   // while tries are made; so the rest
  std::uint64_t received_ = 0;
  Clock::time_point until_, begun_, next_;
  std::chrono::milliseconds pause_{0};
  bool told_why_ = false;  // what ssh says of the first failure is not said of the others
  std::optional<tree::ControlChannel> channel_;
  std::uint64_t agent_received_ = 0;
};

}  // namespace rdcp::cli
