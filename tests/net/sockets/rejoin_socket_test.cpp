#include "net/sockets/rejoin_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdcp::net {
namespace {

// True if the other end of the connection closes it.
bool is_closed(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, 0) == 0;
}

TEST(RejoinSocket, WhoKnowsItsNameIsAccepted) {
  const auto listening = RejoinSocket::open();
  ASSERT_TRUE(listening) << listening.error().message();
  EXPECT_TRUE(is_rejoin_socket(listening->name()));
  EXPECT_FALSE(listening->accept());  // nobody has come
  const auto outside = connect_to_rejoin_socket(listening->name());
  ASSERT_TRUE(outside) << outside.error().message();
  const io::Fd inside = listening->accept();
  ASSERT_TRUE(inside);
  ASSERT_EQ(::send(outside->get(), "a", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(inside.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'a');
  EXPECT_FALSE(listening->accept());
}

TEST(RejoinSocket, EachHasANameOfItsOwn) {
  const auto one = RejoinSocket::open();
  const auto other = RejoinSocket::open();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->name(), other->name());
}

TEST(RejoinSocket, NobodyIsThereOnceItIsClosed) {
  std::string name;
  {
    const auto listening = RejoinSocket::open();
    ASSERT_TRUE(listening);
    name = listening->name();
  }
  const auto outside = connect_to_rejoin_socket(name);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, io::ErrorKind::connection);
}

TEST(RejoinSocket, ProcessesOfOtherUsersAreSentAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const auto listening = RejoinSocket::open();
  ASSERT_TRUE(listening);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setuid(65534) == 0;
    const auto outside = connect_to_rejoin_socket(listening->name());
    ::_exit(other && outside && is_closed(outside->get()) ? 0 : 1);
  }
  pollfd entry{listening->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_FALSE(listening->accept());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RejoinSocket, NamesThatOneOfOursCannotHaveAreNone) {
  const std::string name = "rdcp-0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(is_rejoin_socket(name));
  for (const std::string& other :
       {std::string(), std::string("rdcp-"), name + "0", name.substr(1), "x" + name.substr(1),
        name.substr(0, 36) + "g", name.substr(0, 36) + "'", name.substr(0, 36) + "A",
        name.substr(0, 36) + std::string(1, '\0'), name.substr(0, 36) + " "})
    EXPECT_FALSE(is_rejoin_socket(other)) << other;
}

}  // namespace
}  // namespace rdcp::net
