#include "tree/protocol/control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <thread>

#include "tree/messages/job.h"
#include "tree/messages/rejoin.h"

namespace rdcp::tree {
namespace {

using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

struct ControlTest : testing::Test {
  ControlTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    raw.reset(::fcntl(ends[0], F_DUPFD_CLOEXEC, 0));
    ours.emplace(io::Fd(ends[0]), io::Fd(), "us");
    theirs.emplace(io::Fd(ends[1]), io::Fd(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0)), "host1");
  }
  void write_raw(std::string_view bytes) {
    ASSERT_EQ(::write(raw.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  io::Fd raw;  // the other side of `theirs`
  std::optional<ControlChannel> ours;
  std::optional<ControlChannel> theirs;
};

net::SealKeys keys(bool near) {
  net::SealKeys keys;
  (near ? keys.sending : keys.receiving).fill(std::byte{1});
  (near ? keys.receiving : keys.sending).fill(std::byte{2});
  return keys;
}

// A sealed channel, and what it wrote.
struct SealedControlTest : testing::Test {
  SealedControlTest() {
    for (auto* pair : {&out, &in}) {
      int ends[2];
      EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
      (*pair)[0].reset(ends[0]);
      (*pair)[1].reset(ends[1]);
    }
    sender.emplace(io::Fd(), std::move(out[1]), "a", keys(true));
    receiver.emplace(std::move(in[0]), io::Fd(), "b", keys(false));
  }
  std::string written() {
    char bytes[4096];
    const ssize_t n = ::read(out[0].get(), bytes, sizeof bytes);
    return {bytes, n > 0 ? static_cast<std::size_t>(n) : 0};
  }
  void arrive(std::string_view bytes) {
    ASSERT_EQ(::write(in[1].get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  io::Result<RawMessage> next() { return receiver->wait(Steady::now() + seconds(5)); }

  std::array<io::Fd, 2> out;
  std::array<io::Fd, 2> in;
  std::optional<ControlChannel> sender;
  std::optional<ControlChannel> receiver;
};

TEST_F(SealedControlTest, MessagesArriveAndShowNothing) {
  TargetJob job;
  job.path = "a secret name";
  ASSERT_TRUE(sender->send(job));
  ASSERT_TRUE(sender->send(Ping()));
  const std::string bytes = written();
  EXPECT_EQ(bytes.find("secret"), std::string::npos);
  EXPECT_EQ(bytes.find("rdcp control"), std::string::npos);
  arrive(bytes.substr(0, 7));  // in pieces
  arrive(bytes.substr(7));
  const auto first = next();
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(receiver->decode<TargetJob>(*first)->path, job.path);
  const auto second = next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->type, MessageType::ping);
}

TEST_F(SealedControlTest, EveryChangedBitIsNoticed) {
  ASSERT_TRUE(sender->send(Ping()));
  const std::string bytes = written();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] ^= static_cast<char>(1u << (bit % 8));
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ControlChannel channel(io::Fd(ends[0]), io::Fd(), "b", keys(false));
    const io::Fd to(ends[1]);
    ASSERT_EQ(::write(to.get(), changed.data(), changed.size()), static_cast<ssize_t>(changed.size()));
    const auto got = channel.receive();
    if (got && bit < 32) {  // a length that is not all there yet
      EXPECT_FALSE(*got) << bit;
    } else {
      ASSERT_FALSE(got) << bit;
      EXPECT_EQ(got.error().kind, io::ErrorKind::digest) << bit;
    }
  }
}

TEST_F(SealedControlTest, RepeatedAndReorderedMessagesAreNoticed) {
  ASSERT_TRUE(sender->send(Ping()));
  const std::string first = written();
  ASSERT_TRUE(sender->send(Beat()));
  const std::string second = written();
  arrive(first);
  ASSERT_TRUE(next());
  arrive(first);
  const auto again = next();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, io::ErrorKind::digest);

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ControlChannel other(io::Fd(ends[0]), io::Fd(), "b", keys(false));
  const io::Fd to(ends[1]);
  ASSERT_EQ(::write(to.get(), second.data(), second.size()), static_cast<ssize_t>(second.size()));
  EXPECT_FALSE(other.wait(Steady::now() + seconds(5)));
}

TEST_F(SealedControlTest, PlainMessagesAreRefused) {
  arrive(std::string(kGreeting) + std::string("\2\0\0\0\0", 5));
  const auto got = next();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, io::ErrorKind::digest);
}

std::string greeted(std::string_view rest) {
  return std::string(kGreeting) + std::string(rest);
}

TEST_F(ControlTest, MessagesArriveAsTheyWereSent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ControlChannel sender(io::Fd(), io::Fd(ends[1]), "a");
  ControlChannel receiver(io::Fd(ends[0]), io::Fd(), "b");
  Begin begin;
  begin.streams = 3;
  begin.hosts = {"10.0.0.1", "fe80::1%eth0"};
  begin.landings = {"", std::string("new\nline\xff", 9)};
  begin.in_place = true;
  ASSERT_TRUE(sender.send(begin).ok());
  Done done;
  done.complete = true;
  done.times.write_busy_ns = 1ull << 60;
  done.losses = {{LossKind::acl, 4, "p", "c"}};
  ASSERT_TRUE(sender.send(done).ok());
  const auto first = receiver.wait(Steady::now() + seconds(10));
  ASSERT_TRUE(first.ok());
  const auto got = receiver.decode<Begin>(*first);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->hosts, begin.hosts);
  EXPECT_EQ(got->landings, begin.landings);
  EXPECT_TRUE(got->in_place);
  const auto second = receiver.wait(Steady::now() + seconds(10));
  ASSERT_TRUE(second.ok());
  const auto got_done = receiver.decode<Done>(*second);
  ASSERT_TRUE(got_done.ok());
  EXPECT_EQ(got_done->times.write_busy_ns, 1ull << 60);
  EXPECT_EQ(got_done->losses[0].count, 4u);
}

TEST_F(ControlTest, NoiseBeforeTheGreetingIsShownEscaped) {
  write_raw("Welcome to host1!\033[2J\n");
  const auto message = theirs->receive();
  ASSERT_FALSE(message.ok());
  EXPECT_EQ(message.error().kind, io::ErrorKind::unreachable);
  const std::string text = message.error().message();
  EXPECT_NE(text.find("host1"), std::string::npos);
  EXPECT_NE(text.find("Welcome to host1!"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST_F(ControlTest, LinesOfTheWayInMayComeBeforeTheGreeting) {
  std::vector<std::string> lines;
  theirs->take_lines_before_greeting([&](std::string_view line) {
    lines.emplace_back(line);
    return line == "\1bad" ? io::Result<void>(io::plain_error(io::ErrorKind::usage, "a", "b", "c"))
                           : io::Result<void>();
  });
  for (const char* piece : {"\1pu", "t x\n\1no", "ne\n"}) {
    write_raw(piece);
    const auto message = theirs->receive();
    ASSERT_TRUE(message.ok());
    EXPECT_FALSE(message->has_value());
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"\1put x", "\1none"}));
  write_raw("\1bad\n");
  const auto refused = theirs->receive();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, io::ErrorKind::usage);
  write_raw(greeted(std::string("\x0d\0\0\0\0", 5)));
  const auto message = theirs->receive();
  ASSERT_TRUE(message.ok());
  EXPECT_TRUE(message->has_value());
}

TEST_F(ControlTest, ALineBeforeTheGreetingHasAnEnd) {
  theirs->take_lines_before_greeting([](std::string_view) { return io::Result<void>(); });
  write_raw("\1" + std::string(5000, 'x'));
  EXPECT_FALSE(theirs->receive().ok());
}

TEST_F(ControlTest, BytesMayTrickle) {
  const std::string bytes = greeted(std::string("\x0d\0\0\0\0", 5));  // suspend, no fields
  for (const char byte : bytes.substr(0, bytes.size() - 1)) {
    write_raw(std::string_view(&byte, 1));
    const auto message = theirs->receive();
    ASSERT_TRUE(message.ok());
    EXPECT_FALSE(message->has_value());
  }
  write_raw(bytes.substr(bytes.size() - 1));
  const auto message = theirs->receive();
  ASSERT_TRUE(message.ok());
  ASSERT_TRUE(message->has_value());
  EXPECT_EQ((*message)->type, MessageType::suspend);
}

TEST_F(ControlTest, ALengthBeyondTheLimitIsRefusedBeforeItIsRead) {
  write_raw(greeted(std::string("\x0d\xff\xff\xff\x7f", 5)));
  EXPECT_FALSE(theirs->receive().ok());
}

TEST_F(ControlTest, EveryTruncationOfAMessageIsRefused) {
  Begin begin;
  begin.hosts = {"a", "b"};
  begin.landings = {"c"};
  const std::string whole = encode_fields(begin);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const RawMessage raw{MessageType::begin, whole.substr(0, length)};
    EXPECT_FALSE(theirs->decode<Begin>(raw).ok()) << length;
  }
  EXPECT_FALSE(theirs->decode<Begin>({MessageType::begin, whole + "x"}).ok());
  EXPECT_TRUE(theirs->decode<Begin>({MessageType::begin, std::string(whole)}).ok());
}

TEST_F(ControlTest, ACountThatLiesAllocatesNothing) {
  // A list that claims four thousand million items in a message of a few bytes.
  const std::string lie("\x01\0\x04\0\0\0\xff\xff\xff\xff", 10);
  EXPECT_FALSE(theirs->decode<Begin>({MessageType::begin, std::string(lie)}).ok());
}

TEST_F(ControlTest, TheEndIsAnError) {
  write_raw(greeted(""));
  ASSERT_TRUE(theirs->receive().ok());
  raw.reset();
  ours.reset();
  const auto message = theirs->receive();
  ASSERT_FALSE(message.ok());
  EXPECT_EQ(message.error().kind, io::ErrorKind::connection);
}

// As when its process is stopped.
TEST_F(ControlTest, APeerThatTakesNothingIsGivenUpAtTheLimit) {
  theirs->limit_sends(std::chrono::milliseconds(1));
  TargetJob job;
  job.path = std::string(1 << 16, 'x');
  io::Result<void> sent;
  while (sent) sent = theirs->send(job);
  EXPECT_EQ(sent.error().kind, io::ErrorKind::connection);
  EXPECT_EQ(sent.error().code, ETIMEDOUT);
  EXPECT_EQ(sent.error().message(), "write to host1: Connection timed out");
  // A part of the message may have been written, so no other one can follow even when there is room again.
  std::string taken(1 << 20, '\0');
  EXPECT_GT(::recv(raw.get(), taken.data(), taken.size(), MSG_DONTWAIT), 0);
  EXPECT_EQ(theirs->send(Ping()).error().code, ETIMEDOUT);
}

// Two sides that can outlast their connection, which is a socket pair.
struct OutlastingTest : testing::Test {
  OutlastingTest() {
    ::signal(SIGPIPE, SIG_IGN);
    join(agent, coordinator);
    for (auto* side : {&agent, &coordinator}) (*side)->keep_unacknowledged();
    say(*agent, 0);
    expect(*coordinator, 0);
    for (auto* side : {&agent, &coordinator}) (*side)->outlast_connection();
  }
  static void join(std::optional<ControlChannel>& one, std::optional<ControlChannel>& other) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    one.emplace(io::Fd(ends[0]), io::Fd(::fcntl(ends[0], F_DUPFD_CLOEXEC, 0)), "one");
    other.emplace(io::Fd(ends[1]), io::Fd(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0)), "other");
  }
  static void say(ControlChannel& side, std::uint64_t number, std::size_t bytes = 100) {
    ASSERT_TRUE(side.send(Progress{.bytes_done = number, .path = std::string(bytes, 'x')}));
  }
  static void expect(ControlChannel& side, std::uint64_t number) {
    const auto raw = side.wait(Steady::now() + seconds(5));
    ASSERT_TRUE(raw) << number << ": " << raw.error().message();
    ASSERT_EQ(side.decode<Progress>(*raw)->bytes_done, number);
  }
  // What both sides do when they meet again.
  void meet() {
    std::optional<ControlChannel> at_agent, at_coordinator;
    join(at_agent, at_coordinator);
    ASSERT_TRUE(at_coordinator->send(Rejoin{.received = coordinator->received()}));
    const auto asked = at_agent->wait(Steady::now() + seconds(5));
    ASSERT_TRUE(asked);
    ASSERT_TRUE(at_agent->send(Rejoin{.received = agent->received()}));
    ASSERT_TRUE(agent->go_on_over(*at_agent, at_agent->decode<Rejoin>(*asked)->received));
    const auto answered = at_coordinator->wait(Steady::now() + seconds(5));
    ASSERT_TRUE(answered);
    ASSERT_TRUE(
        coordinator->go_on_over(*at_coordinator, at_coordinator->decode<Rejoin>(*answered)->received));
  }
  std::optional<ControlChannel> agent, coordinator;
};

TEST_F(OutlastingTest, WhatWasNotReceivedIsSentAgain) {
  for (std::uint64_t number = 1; number <= 100; ++number) say(*agent, number);
  for (std::uint64_t number = 1; number <= 70; ++number) expect(*coordinator, number);
  coordinator->lose_connection();
  agent->lose_connection();
  for (std::uint64_t number = 101; number <= 110; ++number) say(*agent, number);
  say(*coordinator, 7);
  meet();
  for (std::uint64_t number = 71; number <= 110; ++number) expect(*coordinator, number);
  expect(*agent, 7);
  for (std::uint64_t number = 111; number <= 200; ++number) say(*agent, number);
  for (std::uint64_t number = 111; number <= 200; ++number) expect(*coordinator, number);
}

TEST_F(OutlastingTest, ASideThatNoticesNothingIsSentTheRestAllTheSame) {
  for (std::uint64_t number = 1; number <= 5; ++number) say(*agent, number);
  coordinator->lose_connection();
  meet();
  for (std::uint64_t number = 1; number <= 5; ++number) expect(*coordinator, number);
}

TEST_F(OutlastingTest, ASendThatFailsLosesNothing) {
  coordinator->lose_connection();
  for (std::uint64_t number = 1; number <= 5; ++number) say(*agent, number);
  EXPECT_TRUE(agent->is_unread(std::chrono::milliseconds(0)));
  meet();
  for (std::uint64_t number = 1; number <= 5; ++number) expect(*coordinator, number);
}

TEST_F(OutlastingTest, LittleIsKeptWhileTheOtherSideAcknowledges) {
  constexpr std::size_t kBytes = 10'000;
  for (std::uint64_t number = 1; number <= 4 * Unacknowledged::kBytesMax / kBytes; ++number) {
    say(*agent, number, kBytes);
    expect(*coordinator, number);
    pollfd told{agent->fd(), POLLIN, 0};
    while (::poll(&told, 1, 0) > 0) ASSERT_TRUE(agent->receive());
  }
  EXPECT_TRUE(agent->can_go_on());
}

TEST_F(OutlastingTest, WhoAcknowledgesNothingCannotRejoin) {
  agent->lose_connection();
  constexpr std::size_t kBytes = 1 << 20;
  for (std::uint64_t number = 0; number <= Unacknowledged::kBytesMax / kBytes; ++number)
    say(*agent, number, kBytes);
  EXPECT_FALSE(agent->can_go_on());
}

TEST_F(OutlastingTest, NumbersThatCannotBeAreRefused) {
  std::optional<ControlChannel> at_agent, at_coordinator;
  join(at_agent, at_coordinator);
  const auto gone = agent->go_on_over(*at_agent, 2);  // one message was sent
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, io::ErrorKind::protocol);
  ASSERT_TRUE(coordinator->send(Ack{.received = 2}));
  const auto heard = agent->wait(Steady::now() + seconds(5));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().kind, io::ErrorKind::protocol);
}

// Nobody has asked this side to keep anything.
TEST_F(ControlTest, AnAckIsRefusedWhereNothingIsKept) {
  write_raw(kGreeting);
  write_raw(std::string("\x26\x08\0\0\0\0\0\0\0\0\0\0\0", 13));
  const auto heard = theirs->wait(Steady::now() + seconds(5));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().kind, io::ErrorKind::protocol);
}

}  // namespace
}  // namespace rdcp::tree
