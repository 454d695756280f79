#include "tree/pipe/relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>

#include <string>

#include "tree/protocol/control.h"

namespace rdcp::tree {
namespace {

// A relay, and the control channel of the far side.
class RelayTest : public ::testing::Test {
 protected:
  RelayTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    near_ = channel(ends[0]);
    far_ = channel(ends[1]);
    relay_ = std::make_unique<Relay>([this](const RelayedBytes& bytes) { EXPECT_TRUE(near_->send(bytes)); },
                                     RelayChannel::output);
    auto end = relay_->open();
    EXPECT_TRUE(end.ok());
    speaker_ = std::move(*end);
  }
  static std::unique_ptr<ControlChannel> channel(int fd) {
    return std::make_unique<ControlChannel>(io::Fd(fd), io::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), "peer");
  }
  RelayedBytes received() {
    const auto raw = far_->wait(std::chrono::steady_clock::now() + std::chrono::seconds(10));
    EXPECT_TRUE(raw.ok());
    const auto message = far_->decode<RelayedBytes>(*raw);
    EXPECT_TRUE(message.ok());
    return *message;
  }

  std::unique_ptr<ControlChannel> near_, far_;
  std::unique_ptr<Relay> relay_;
  io::Fd speaker_;
};

TEST_F(RelayTest, SendsOnWhatIsSaid) {
  ASSERT_EQ(::write(speaker_.get(), "word", 4), 4);
  relay_->forward();
  const RelayedBytes message = received();
  EXPECT_EQ(message.bytes, "word");
  EXPECT_EQ(message.channel, RelayChannel::output);
}

TEST_F(RelayTest, TellsTheEndOnce) {
  speaker_.reset();
  relay_->forward();
  EXPECT_EQ(received().bytes, "");
  EXPECT_EQ(relay_->fd(), -1);
}

TEST_F(RelayTest, DeliversWordsAndTheEnd) {
  relay_->deliver("answer");
  relay_->deliver("");
  char bytes[16];
  ASSERT_EQ(::read(speaker_.get(), bytes, sizeof bytes), 6);
  EXPECT_EQ(std::string(bytes, 6), "answer");
  EXPECT_EQ(::read(speaker_.get(), bytes, sizeof bytes), 0);
}

TEST_F(RelayTest, AWordThatIsLostEndsTheTalk) {
  ASSERT_EQ(::shutdown(speaker_.get(), SHUT_RD), 0);  // it hears nothing any more, and does not know it
  relay_->deliver("lost");
  relay_->forward();
  EXPECT_EQ(received().bytes, "");
  EXPECT_EQ(::send(speaker_.get(), "x", 1, MSG_NOSIGNAL), -1);
}

TEST_F(RelayTest, WhoHasGoneNeedsNoWord) {
  speaker_.reset();
  relay_->deliver("late");
  relay_->close();
  relay_->deliver("later");
  EXPECT_EQ(relay_->fd(), -1);
}

}  // namespace
}  // namespace rdcp::tree
