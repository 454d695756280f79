#include "net/sockets/routes.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

namespace rdcp::net {
namespace {

// Two interfaces: "ra" with addresses of their own (/32, /128), "rb" with a /31 and a router behind it.
constexpr const char* kNetwork = R"(
  ip link set lo up &&
  ip link add ra type veth peer name rax && ip link add rb type veth peer name rbx &&
  for each in ra rax rb rbx; do ip link set $each up || exit 1; done &&
  ip addr add 10.9.0.1/32 dev ra && ip addr add 10.8.0.1/31 dev rb &&
  ip addr add fd01::1/128 dev ra nodad && ip addr add fd02::1/64 dev rb nodad &&
  ip route add 10.9.0.2/32 dev ra && ip -6 route add fd01::2/128 dev ra &&
  ip route add 10.7.0.0/16 via 10.8.0.0 dev rb && ip route add unreachable 10.7.3.0/24 &&
  ip route add 10.60.0.0/16 nexthop dev ra nexthop via 10.8.0.0 dev rb &&
  ip rule add from 10.9.0.1 lookup 100 && ip route add 10.50.0.0/16 dev ra table 100
)";

// Returns what the asker writes within that network, or nothing if there is none to be had.
template <class Asker>
std::string in_network(const Asker& asker) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return {};
  const uid_t user = ::getuid();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(user == 0 ? CLONE_NEWNET : CLONE_NEWNET | CLONE_NEWUSER) != 0) ::_exit(1);
    if (user != 0) std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    if (std::system(kNetwork) != 0) ::_exit(1);
    const std::string answer = asker();
    ::_exit(::write(pipe[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string text;
  std::array<char, 256> part{};
  while (const ssize_t got = ::read(pipe[0], part.data(), part.size())) {
    if (got < 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : std::string();
}

TEST(Routes, ThoseThatTheKernelHasOfThisInterface) {
  const std::string text = in_network([] {
    Routes routes;
    std::string answer = "asked\n";
    const auto ask = [&](const char* from, const char* interface, const char* to) {
      const std::string problem = routes.problem(from, interface, to);
      if (!problem.empty()) answer += problem + "\n";
    };
    ask("10.9.0.1", "ra", "10.9.0.2");   // on link, by a route of its own
    ask("10.9.0.1", "ra", "10.9.0.3");   // no route at all
    ask("10.8.0.1", "rb", "10.9.0.2");   // there is a route, by another interface
    ask("10.8.0.1", "rb", "10.8.0.0");   // the same subnet
    ask("10.8.0.1", "rb", "10.7.0.9");   // by a router
    ask("10.8.0.1", "rb", "10.7.3.9");   // a route that refuses
    ask("10.9.0.1", "ra", "10.60.0.1");  // by both
    ask("10.8.0.1", "rb", "10.60.0.1");
    ask("10.9.0.1", "ra", "10.50.0.1");  // by a table for this address (ip rule)
    ask("10.8.0.1", "rb", "10.50.0.1");
    ask("10.9.0.1", "ra", "10.9.0.1");  // itself
    ask("10.8.0.1", "rb", "10.9.0.1");  // another of this host
    ask("fd01::1", "ra", "fd01::2");
    ask("fd01::1", "ra", "fd01::3");
    ask("fd01::1", "ra", "fd02::9");
    ask("fd02::1", "rb", "fd02::9");
    ask("fd02::1", "rb", "fd01::1");
    return answer;
  });
  if (text.empty()) GTEST_SKIP() << "no network of its own (unshare, ip)";
  EXPECT_EQ(text,
            "asked\n"
            "no route from 10.9.0.1 (ra) to 10.9.0.3\n"
            "no route from 10.8.0.1 (rb) to 10.9.0.2\n"
            "no route from 10.8.0.1 (rb) to 10.7.3.9\n"
            "no route from 10.8.0.1 (rb) to 10.50.0.1\n"
            "no route from 10.8.0.1 (rb) to 10.9.0.1\n"
            "no route from fd01::1 (ra) to fd01::3\n"
            "no route from fd01::1 (ra) to fd02::9\n"
            "no route from fd02::1 (rb) to fd01::1\n");
}

TEST(Routes, WhatCannotBeAskedIsNoProblem) {
  Routes routes;
  EXPECT_EQ(routes.problem("127.0.0.1", "no such interface", "192.0.2.1"), "");
  EXPECT_EQ(routes.problem("127.0.0.1", "lo", "somewhere"), "");
  EXPECT_EQ(routes.problem("127.0.0.1", "lo", "::1"), "");
}

}  // namespace
}  // namespace rdcp::net
