#include "net/sockets/within_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using testing::HasSubstr;

// Listens at this address, and says at which port. The descriptor is empty where this host has no such
// family.
io::Fd listen_at(const std::string& host, std::uint16_t& port) {
  const auto at = to_socket_address({host, 0});
  if (!at) return {};
  io::Fd socket(::socket(at->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), at->get(), at->length) != 0 || ::listen(socket.get(), 1) != 0)
    return {};
  port = local_address(socket.get()).port;
  return socket;
}

TEST(WithinHost, LoopbackIsOfThisHost) {
  for (const std::string host : {"127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"}) {
    std::uint16_t port = 0;
    const io::Fd listener = listen_at(host.starts_with("::ffff:") ? "127.0.0.1" : host, port);
    if (!listener) continue;
    const auto connected = connect_to_this_host({host, port});
    ASSERT_TRUE(connected) << host << ": " << connected.error().message();
  }
}

TEST(WithinHost, EachAddressOfAnInterfaceIs) {
  const auto hosts = own_addresses("");
  ASSERT_TRUE(hosts);
  for (const std::string& host : *hosts) {
    std::uint16_t port = 0;
    const io::Fd listener = listen_at(host, port);
    if (!listener) continue;
    const auto connected = connect_to_this_host({host, port});
    EXPECT_TRUE(connected) << host << ": " << connected.error().message();
  }
}

// TEST-NET-1 and the documentation's prefix belong to nobody (RFC 5737, RFC 3849).
TEST(WithinHost, AnotherOnesAddressIsNotConnectedTo) {
  for (const std::string host : {"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "0.0.0.0", "::"}) {
    const auto connected = connect_to_this_host({host, 80});
    ASSERT_FALSE(connected) << host;
    EXPECT_EQ(connected.error().kind, io::ErrorKind::connection);
    EXPECT_THAT(connected.error().message(), HasSubstr(Address{host, 80}.text()));
    EXPECT_THAT(connected.error().message(), HasSubstr("is no address of this host"));
  }
}

TEST(WithinHost, ANameIsNoAddress) {
  const auto connected = connect_to_this_host({"localhost", 80});
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, io::ErrorKind::usage);
}

}  // namespace
}  // namespace rdcp::net
