#include "net/sockets/congestion.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "net/sockets/sockets.h"

namespace rdcp::net {

using io::ErrorKind;
using io::Result;

namespace {

// Reads a list that Documentation/networking/ip-sysctl describes: "available" is what is loaded, "allowed"
// what of it everybody may use. Modules are loaded on demand only for root.
std::string names_in(const std::string& list) {
  std::string names;
  std::ifstream file("/proc/sys/net/ipv4/tcp_" + list + "_congestion_control");
  std::getline(file, names);
  return names.empty() ? "unknown" : names;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

std::string why_not(int code) {
  if (code == EPERM) {
    return "only root may have it there; allowed to everybody: " + names_in("allowed");
  }
  return "its kernel does not have it; available: " + names_in("available");
}

}  // namespace

Result<void> set_congestion(int socket, const std::string& name) {
  if (name.empty()) return {};
  const auto length = static_cast<socklen_t>(name.size());
  if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), length) == 0) return {};
  const std::string cause = why_not(errno);
  return io::plain_error(ErrorKind::usage, "use --congestion " + name + " on", host_name(), cause);
}

bool congestion_counts_losses(int socket) {
  std::array<char, 17> name{};  // TCP_CA_NAME_MAX, and an end
  socklen_t length = name.size() - 1;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) != 0) return false;
  return std::string_view(name.data()) == "cubic" || std::string_view(name.data()) == "reno";
}

Result<void> check_congestion(const std::string& name) {
  if (name.empty()) return {};
  auto socket = open_tcp_socket(AF_INET6);
  if (!socket) socket = open_tcp_socket(AF_INET);
  return socket ? set_congestion(socket->get(), name) : socket.error();
}

}  // namespace rdcp::net
