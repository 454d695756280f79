// An agent that says what a test wants, and a coordinator's session with it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/agents/agent_session.h"
#include "tree/messages/segment_job.h"

namespace rdcp::cli {

// A hello as versions 10 to 13 say it.
struct OlderHello {
  static constexpr tree::MessageType kType = tree::MessageType::hello;
  tree::Hello hello;
  auto fields() {
    return std::tie(hello.protocol, hello.oldest, hello.program_version, hello.cpus, hello.boot_id,
                    hello.rejoin_socket);
  }
};

struct FakeAgent {
  explicit FakeAgent(const std::string& host) {
    ::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto ours = AgentSession::of_connection(io::Fd(ends[0]), host, "is gone");
    EXPECT_TRUE(ours);
    session = std::move(*ours);
    channel.emplace(io::Fd(ends[1]), io::Fd(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0)), "coordinator");
  }
  ~FakeAgent() {
    channel.reset();
    if (session) session->end(true);
  }
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  template <class Message>
  void say(const Message& message) {
    EXPECT_TRUE(channel->send(message));
  }
  void say(const tree::Hello& hello) {
    if (hello.protocol < tree::ProveEarly::kFirstProtocol) return say(OlderHello{hello});
    EXPECT_TRUE(channel->send(hello));
  }
  // Says something, and has the session receive it.
  template <class Message>
  io::Result<void> reach_session(const Message& message) {
    say(message);
    return session->receive();
  }
  // Returns what the coordinator says next, or nothing if it has said nothing.
  std::optional<tree::RawMessage> hear() {
    auto raw = channel->wait(std::chrono::steady_clock::now());
    return raw ? std::optional(std::move(*raw)) : std::nullopt;
  }
  // Returns the type of what the coordinator says next. Type 0 stands for nothing.
  tree::MessageType hear_type() {
    const auto raw = hear();
    return raw ? raw->type : tree::MessageType{};
  }
  // Has the coordinator say things until the agent, which hears nothing, can take no more.
  void fill() {
    session->limit_sends(std::chrono::milliseconds(1));
    const tree::RelayedBytes page{.channel = {}, .bytes = std::string(1 << 16, 'x')};
    while (!session->send_failure()) session->tell(page);
  }

  std::unique_ptr<AgentSession> session;
  std::optional<tree::ControlChannel> channel;
};

}  // namespace rdcp::cli
