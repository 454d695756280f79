// An agent on a thread, whose coordinator a test plays by hand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tree/agent/agent.h"
#include "tree/protocol/control.h"

namespace rdcp::tree {

class HeldAgent {
 public:
  HeldAgent(const std::string& name, AgentConfig config) : config_(std::move(config)) {
    ::signal(SIGPIPE, SIG_IGN);  // as the programs do
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    control_.emplace(io::Fd(ends[0]), io::Fd(::fcntl(ends[0], F_DUPFD_CLOEXEC, 0)), name);
    thread_ = std::thread([this, end = ends[1]] {
      ended_ = run_agent(io::Fd(end), io::Fd(::fcntl(end, F_DUPFD_CLOEXEC, 0)), config_);
    });
  }
  ~HeldAgent() {
    leave();
    if (thread_.joinable()) thread_.join();
  }
  HeldAgent(const HeldAgent&) = delete;
  HeldAgent& operator=(const HeldAgent&) = delete;

  template <class Message>
  void tell(Message message) {
    EXPECT_TRUE(control_->send(std::move(message)));
  }
  // Receives until there is such a message; nothing if the agent has ended before.
  template <class Message>
  std::optional<Message> hear() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (;;) {
      const auto raw = control_->wait(deadline);
      if (!raw) return std::nullopt;
      if (raw->type != Message::kType) continue;
      auto message = control_->decode<Message>(*raw);
      return message ? std::optional(std::move(*message)) : std::nullopt;
    }
  }
  void leave() { control_.reset(); }
  // Waits for its end, without another word.
  AgentEnd join() {
    thread_.join();
    return ended_;
  }

 private:
  const AgentConfig config_;
  std::optional<ControlChannel> control_;
  std::thread thread_;
  AgentEnd ended_;
};

}  // namespace rdcp::tree
