#include "cli/copy/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/descriptors.h"
#include "net/sockets/sockets.h"
#include "net/sockets/user_socket.h"
#include "net/sockets/within_host.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::Connect;

namespace {

using Bridges = std::vector<std::unique_ptr<Bridge>>;

// Returns a function that carries a connection to a side's host, or none if it is this host.
Parties::Carry carry_to(const CopySide& side, const Parties::Carry& given) {
  if (given || !side.session->run().can_bridge()) return given;
  return [&session = *side.session](const net::Address& at, io::Fd connection, Login login) {
    return session.run().start_bridge(at, std::move(connection), login);
  };
}

// Returns the address at which a bridge reaches an agent on its own host.
net::Address address_within(const CopyRequest& request, const tree::Reach& reach) {
  const bool any = request.wish.via.empty() || reach.hosts.empty();
  return {any ? "127.0.0.1" : reach.hosts.front(), reach.port};
}

Result<io::Fd> connect_within_host(const net::Address& at) {
  auto beside = net::connect_beside(at.port);
  return beside ? std::move(beside) : net::connect_to_this_host(at);
}

bool ssh_can_carry(const CopyRequest& request, const SourceSide& source, const TargetSide& target) {
  const bool both_listen = source.ready->reach.port != 0 && target.ready->reach.port != 0;
  return both_listen && (carry_to(source, request.parties.carry_to_source) ||
                         carry_to(target, request.parties.carry_to_target));
}

bool may_go_through_ssh(const CopyRequest& request, const SourceSide& source, const TargetSide& target) {
  return request.ssh_data != Options::SshData::never && ssh_can_carry(request, source, target);
}

std::string names_of(const SourceSide& source, const TargetSide& target) {
  return source.session->name() + " and " + target.session->name();
}

// because: as "neither of them can reach the other".
std::string slower(const CopyRequest& request, const std::string& because) {
  return "the data goes through " + request.carrier + ", which is slower, because " + because +
         "; to make it fast, open a port in a firewall and name it with --data-port\n";
}

}  // namespace

std::vector<WayToTry> ways_to_try(const CopyRequest& request, SourceSide& source, TargetSide& target) {
  const WayToTry by_source{&source, &target, &target.ready->reach, true};
  const WayToTry by_target{&target, &source, &source.ready->reach, false};
  const bool source_first = request.parties.source_connects == Connect::connect;
  std::vector<WayToTry> ways{source_first ? by_source : by_target, source_first ? by_target : by_source};
  std::erase_if(ways, [](const WayToTry& way) { return way.reach->hosts.empty(); });
  return ways;
}

std::string Knocking::cause() const {
  std::string cause = way.listening->session->name() + ": ";
  if (over) return cause + knocked.none_because;
  std::vector<std::string> silent;
  for (const std::string& host : way.reach->hosts)
    silent.push_back(net::Address{host, way.reach->port}.text() + ": does not answer");
  return cause + fmt::format("{}", fmt::join(silent, "; "));
}

Meeting meeting_by(const WayToTry& way, const std::vector<std::uint16_t>& answered) {
  Meeting meeting;
  meeting.source_connects = way.source_connects;
  meeting.port = way.reach->port;
  meeting.hosts = way.reach->hosts;
  std::stable_partition(meeting.hosts.begin(), meeting.hosts.end(), [&](const std::string& host) {
    const auto place =
        static_cast<std::size_t>(std::ranges::find(way.reach->hosts, host) - way.reach->hosts.begin());
    return std::ranges::find(answered, place) != answered.end();
  });
  return meeting;
}

std::optional<std::string> slower_if_in_vain(const CopyRequest& request, const SourceSide& source,
                                             const TargetSide& target) {
  const bool can_tell = request.settings.retry_seconds > 0;
  if (!can_tell || !may_go_through_ssh(request, source, target)) return std::nullopt;
  return slower(request, "nothing came through between " + names_of(source, target) +
                             ", although a port there answered: a firewall may answer in its place");
}

Result<Meeting> meeting_through_ssh(const CopyRequest& request, const SourceSide& source,
                                    const TargetSide& target, std::vector<std::string> causes) {
  const tree::Reach& from = source.ready->reach;
  const tree::Reach& to = target.ready->reach;
  if (from.port == 0 && to.port == 0) {
    return io::plain_error(kind_of_no_listener(request.wish.via, request.wish.port), "listen at",
                           target.session->name(), to.no_tcp_because);
  }
  if (from.port == 0) causes.push_back(source.session->name() + ": " + from.no_tcp_because);
  if (to.port == 0) causes.push_back(target.session->name() + ": " + to.no_tcp_because);
  const std::string between = names_of(source, target);
  if (!may_go_through_ssh(request, source, target)) {
    return io::plain_error(
        ErrorKind::connection, "connect", between,
        fmt::format("{}", fmt::join(causes, "; ")) +
            "; open a port in a firewall and name it with --data-port" +
            (ssh_can_carry(request, source, target) ? ", or leave out --no-ssh-data" : ""));
  }
  Meeting meeting;
  meeting.source_connects = request.parties.source_connects == Connect::connect;
  meeting.through_ssh = true;
  if (request.ssh_data == Options::SshData::always) return meeting;
  meeting.slower = slower(request, "neither of " + between + " can reach the other by TCP");
  for (const std::string& cause : causes) meeting.notes.emplace_back("not reached: " + cause);
  return meeting;
}

Result<Bridges> start_bridges(const CopyRequest& request, const SourceSide& source, const TargetSide& target,
                              unsigned streams) {
  struct End {
    Parties::Carry carry;
    net::Address at;
  };
  const End from{carry_to(source, request.parties.carry_to_source),
                 address_within(request, source.ready->reach)};
  const End to{carry_to(target, request.parties.carry_to_target),
               address_within(request, target.ready->reach)};
  Bridges bridges;
  // The first ones need no login, and the others are there for what further processors can do.
  Login login = Login::shared;
  const auto start = [&](const End& end, io::Fd connection) -> Result<void> {
    auto bridge = end.carry(end.at, std::move(connection), login);
    if (!bridge) return bridge.error();
    bridges.push_back(std::move(*bridge));
    return {};
  };
  for (unsigned i = 0; i < streams; ++i, login = Login::own) {
    if (from.carry && to.carry) {
      auto ends = io::make_socket_pair();
      if (!ends) return ends.error();
      if (auto started = start(from, std::move(ends->first)); !started) return started.error();
      if (auto started = start(to, std::move(ends->second)); !started) return started.error();
      continue;
    }
    auto here = connect_within_host(from.carry ? to.at : from.at);
    if (!here) return here.error();
    if (auto started = start(from.carry ? from : to, std::move(*here)); !started) return started.error();
  }
  return bridges;
}

}  // namespace rdcp::cli
