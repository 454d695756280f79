#include "net/sockets/user_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/net/sockets/raw_receive.h"

namespace rdcp::net {
namespace {

// Connects without a look at who listens.
io::Fd connect_unasked(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  io::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) socket.reset();
  return socket;
}

// Holds a TCP port that nobody else has as long as it lives, so nobody else has a socket beside it, either.
class OwnPort {
 public:
  OwnPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), any, length), 0);
    EXPECT_EQ(::getsockname(socket_.get(), any, &length), 0);
    number_ = ::ntohs(address.sin_port);
  }

  std::uint16_t number() const { return number_; }

 private:
  io::Fd socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t number_ = 0;
};

TEST(UserSocket, WhoKnowsItsNameIsAccepted) {
  const auto listening = UserSocket::open();
  ASSERT_TRUE(listening) << listening.error().message();
  EXPECT_TRUE(is_user_socket(listening->name()));
  EXPECT_FALSE(listening->accept());  // nobody has come
  const auto outside = connect_to_user_socket(listening->name());
  ASSERT_TRUE(outside) << outside.error().message();
  const io::Fd inside = listening->accept();
  ASSERT_TRUE(inside);
  ASSERT_EQ(::send(outside->get(), "a", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(inside.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'a');
  EXPECT_FALSE(listening->accept());
  EXPECT_EQ(listening->came(), 1u);
}

TEST(UserSocket, EachHasANameOfItsOwn) {
  const auto one = UserSocket::open();
  const auto other = UserSocket::open();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->name(), other->name());
}

TEST(UserSocket, NobodyIsThereOnceItIsClosed) {
  std::string name;
  {
    const auto listening = UserSocket::open();
    ASSERT_TRUE(listening);
    name = listening->name();
  }
  const auto outside = connect_to_user_socket(name);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, io::ErrorKind::connection);
}

TEST(UserSocket, ProcessesOfOtherUsersAreSentAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const auto listening = UserSocket::open();
  ASSERT_TRUE(listening);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setuid(65534) == 0;
    const io::Fd outside = connect_unasked(listening->name());
    ::_exit(other && outside && is_closed(outside) ? 0 : 1);
  }
  pollfd entry{listening->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_FALSE(listening->accept());
  EXPECT_EQ(listening->came(), 0u);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(UserSocket, OneIsBesideAPort) {
  const OwnPort port;
  const OwnPort other;
  const auto listening = UserSocket::open_beside(port.number());
  ASSERT_TRUE(listening) << listening.error().message();
  EXPECT_FALSE(UserSocket::open_beside(port.number()));
  EXPECT_FALSE(connect_beside(other.number()));
  const auto outside = connect_beside(port.number());
  ASSERT_TRUE(outside) << outside.error().message();
  const io::Fd inside = listening->accept(SOCK_NONBLOCK);
  ASSERT_TRUE(inside);
  char byte = 0;
  EXPECT_EQ(::recv(inside.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// The name of a socket beside a port can be guessed, so anybody may have taken it.
TEST(UserSocket, ASocketOfAnotherUserIsNotConnectedTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const OwnPort port;
  int ready[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ready), 0);
  const io::Fd here(ready[0]), there(ready[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setuid(65534) == 0;
    const auto listening = UserSocket::open_beside(port.number());
    char byte = 0;
    ::_exit(other && listening && ::send(there.get(), "a", 1, 0) == 1 && ::recv(there.get(), &byte, 1, 0) == 1
                ? 0
                : 1);
  }
  char byte = 0;
  ASSERT_EQ(::recv(here.get(), &byte, 1, 0), 1);
  const auto refused = connect_beside(port.number());
  ASSERT_EQ(::send(here.get(), "a", 1, 0), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EPERM);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(UserSocket, NamesThatOneOfOursCannotHaveAreNone) {
  const std::string name = "rdcp-0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(is_user_socket(name));
  for (const std::string& other :
       {std::string(), std::string("rdcp-"), name + "0", name.substr(1), "x" + name.substr(1),
        name.substr(0, 36) + "g", name.substr(0, 36) + "'", name.substr(0, 36) + "A",
        name.substr(0, 36) + std::string(1, '\0'), name.substr(0, 36) + " "})
    EXPECT_FALSE(is_user_socket(other)) << other;
}

}  // namespace
}  // namespace rdcp::net
