#include "net/sockets/routes.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "io/retry.h"

namespace rdcp::net {
namespace {

struct IpBytes {
  int family = AF_UNSPEC;
  std::array<std::byte, 16> bytes{};
  std::span<const std::byte> used() const {
    return std::span(bytes).first(family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr));
  }
};

std::optional<IpBytes> ip_bytes(const std::string& host) {
  const std::string plain = host.substr(0, host.find('%'));
  for (const int family : {AF_INET, AF_INET6}) {
    IpBytes ip{family, {}};
    if (::inet_pton(family, plain.c_str(), ip.bytes.data()) == 1) return ip;
  }
  return std::nullopt;
}

// A question with its attributes (rtnetlink(7)).
class Question {
 public:
  Question(const IpBytes& from, const IpBytes& to, unsigned flags, std::uint32_t sequence) {
    auto& header = *reinterpret_cast<nlmsghdr*>(buffer_.data());
    header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
    header.nlmsg_type = RTM_GETROUTE;
    header.nlmsg_flags = NLM_F_REQUEST;
    header.nlmsg_seq = sequence;
    auto& route = *static_cast<rtmsg*>(NLMSG_DATA(&header));
    route.rtm_family = static_cast<unsigned char>(to.family);
    route.rtm_dst_len = static_cast<unsigned char>(8 * to.used().size());
    route.rtm_src_len = static_cast<unsigned char>(8 * from.used().size());
    route.rtm_flags = flags;
    add(RTA_SRC, from.used());
    add(RTA_DST, to.used());
  }
  // There is room for what is added here: two addresses and a number.
  void add(unsigned short type, std::span<const std::byte> value) {
    auto& header = *reinterpret_cast<nlmsghdr*>(buffer_.data());
    auto& attribute = *reinterpret_cast<rtattr*>(buffer_.data() + NLMSG_ALIGN(header.nlmsg_len));
    attribute.rta_type = type;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(value.size()));
    std::memcpy(RTA_DATA(&attribute), value.data(), value.size());
    header.nlmsg_len = NLMSG_ALIGN(header.nlmsg_len) + RTA_ALIGN(attribute.rta_len);
  }
  std::span<const std::byte> bytes() const {
    return std::span(buffer_).first(reinterpret_cast<const nlmsghdr*>(buffer_.data())->nlmsg_len);
  }

 private:
  alignas(NLMSG_ALIGNTO) std::array<std::byte, 128> buffer_{};
};

struct Answer {
  int error = 0;           // errno
  unsigned interface = 0;  // 0 if the answer names none, or several
};

Answer answer_of(nlmsghdr& header) {
  if (header.nlmsg_type == NLMSG_ERROR) {
    if (header.nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr))) return {EPROTO};
    return {-static_cast<const nlmsgerr*>(NLMSG_DATA(&header))->error};
  }
  if (header.nlmsg_type != RTM_NEWROUTE || header.nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg))) return {EPROTO};
  auto& route = *static_cast<rtmsg*>(NLMSG_DATA(&header));
  Answer answer;
  auto left = static_cast<int>(RTM_PAYLOAD(&header));
  for (rtattr* each = RTM_RTA(&route); RTA_OK(each, left); each = RTA_NEXT(each, left)) {
    if (each->rta_type == RTA_OIF && RTA_PAYLOAD(each) == sizeof(answer.interface)) {
      std::memcpy(&answer.interface, RTA_DATA(each), sizeof(answer.interface));
    }
  }
  return answer;
}

// Returns nothing if the kernel does not answer.
std::optional<Answer> ask(const io::Fd& socket, const Question& question, std::uint32_t sequence) {
  const auto bytes = question.bytes();
  const ssize_t sent = io::retry_eintr([&] { return ::send(socket.get(), bytes.data(), bytes.size(), 0); });
  if (sent != static_cast<ssize_t>(bytes.size())) return std::nullopt;
  alignas(NLMSG_ALIGNTO) std::array<std::byte, 8192> buffer;
  // Answers to questions that were given up may lie there still.
  for (;;) {
    const ssize_t got =
        io::retry_eintr([&] { return ::recv(socket.get(), buffer.data(), buffer.size(), 0); });
    if (got <= 0) return std::nullopt;
    auto* header = reinterpret_cast<nlmsghdr*>(buffer.data());
    if (NLMSG_OK(header, static_cast<std::size_t>(got)) && header->nlmsg_seq == sequence) {
      return answer_of(*header);
    }
  }
}

// No route, as the kernel says it for IPv4 and IPv6 and for routes that refuse (fib_props in its
// net/ipv4/fib_semantics.c).
bool is_refusal(int error) {
  constexpr std::array kRefusals = {ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL};
  for (const int refusal : kRefusals) {
    if (error == refusal) return true;
  }
  return false;
}

}  // namespace

Routes::Routes() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  if (!socket_) return;
  // Without this limit a kernel that does not answer would be waited for.
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
}

std::string Routes::problem(const std::string& from, const std::string& interface, const std::string& to) {
  const auto source = ip_bytes(from), destination = ip_bytes(to);
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (!socket_ || !source || !destination || source->family != destination->family || index == 0) return {};
  if (source->bytes == destination->bytes) return {};
  const bool ipv4 = source->family == AF_INET;
  Question question(*source, *destination, ipv4 ? RTM_F_FIB_MATCH : 0, ++sequence_);
  question.add(RTA_OIF, std::as_bytes(std::span(&index, 1)));
  const auto answer = ask(socket_, question, sequence_);
  if (!answer || (answer->error != 0 && !is_refusal(answer->error))) return {};
  // IPv6 may answer with a route by another interface, which is "lo" for what is local.
  const bool elsewhere = !ipv4 && answer->interface != index;
  if (answer->error == 0 && !elsewhere) return {};
  return fmt::format("no route from {} ({}) to {}", from, interface, to);
}

}  // namespace rdcp::net
