#include "cli/pipes/pipe_request.h"

#include <memory>
#include <utility>

#include "cli/agents/agent_run.h"

namespace rdcp::cli {

using io::Result;
using tree::Connect;

namespace {

// Returns a function that starts the agent at rdpipe's own standard input or output. It is a thread, because
// other streams' threads run by then.
Parties::Start start_own_agent(bool input, const RemoteShell& shell) {
  return [input, confined = confinement(shell, tree::Confinement::of_thread)] {
    tree::AgentConfig place{.confinement = confined};
    if (input) {
      place.standard.input_by_extents = true;
    } else {
      place.only.emplace();
      place.only->streams_as_told = true;
    }
    return AgentSession::start_thread(std::move(place));
  };
}

// Returns a function that connects to the agent of a segment, through the relay.
Result<Parties::Start> start_far_agent(tree::Relay& relay, const std::string& host) {
  auto end = relay.open();
  if (!end) return end.error();
  auto held = std::make_shared<io::Fd>(std::move(*end));
  return Parties::Start([held, host] {
    return AgentSession::of_connection(std::move(*held), host,
                                       "its agent ended unexpectedly, or the connection to it was lost");
  });
}

// Returns a function that starts bridges to a segment's host, or none if the segment runs here.
Parties::Carry carry_to(const SegmentLink& segment) {
  if (!segment.session().run().can_bridge()) return {};
  return [&session = segment.session()](const net::Address& at, io::Fd connection, Login login) {
    return session.run().start_bridge(at, std::move(connection), login);
  };
}

bool is_far(const SegmentLink* segment) {
  return segment != nullptr && segment->segment().host;
}

}  // namespace

std::string PipeNeighbours::from_name() const {
  return from != nullptr ? from->segment().host_name() : "standard input";
}

std::string PipeNeighbours::to_name() const {
  return to != nullptr ? to->segment().host_name() : "standard output";
}

// The target listens, except where it is on this host, the source is not, and --hostname does not tell how to
// reach this host: then this host connects to the source.
Result<CopyRequest> pipe_request(const Options& options, const PipeNeighbours& neighbours,
                                 const std::optional<net::Address>& own_address, std::uint16_t port) {
  const bool source_is_far = is_far(neighbours.from);
  const bool target_is_far = is_far(neighbours.to);
  const bool target_listens = target_is_far || !source_is_far || own_address;
  Parties parties;
  parties.source_connects = target_listens ? Connect::connect : Connect::listen;
  parties.target_is_far = target_is_far || !source_is_far;
  if (!target_is_far && source_is_far) parties.reached = own_address;
  parties.start_source = start_own_agent(true, options.shell);
  parties.start_targets = {start_own_agent(false, options.shell)};
  if (neighbours.from != nullptr) {
    auto start = start_far_agent(neighbours.from->output(), neighbours.from_name());
    if (!start) return start.error();
    parties.start_source = std::move(*start);
    parties.carry_to_source = carry_to(*neighbours.from);
  }
  if (neighbours.to != nullptr) {
    auto start = start_far_agent(neighbours.to->input(), neighbours.to_name());
    if (!start) return start.error();
    parties.start_targets = {std::move(*start)};
    parties.carry_to_target = carry_to(*neighbours.to);
  }
  CopyRequest request = stream_request(options, std::move(parties));
  if (port != 0) {
    request.wish.port = request.wish.port_last = port;
    request.one_way = true;
  }
  return request;
}

}  // namespace rdcp::cli
