#include "cli/copy/copy_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tree/fs/local_path.h"
#include "tree/messages/alterations.h"
#include "tree/messages/hello.h"
#include "tree/messages/paths_named.h"
#include "tree/select/destination_mapping.h"
#include "tree/select/path_pattern.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::Connect;
using tree::PathKind;

namespace {

constexpr unsigned kStreamsThroughSshMax = 8;

// Returns how the target connects, given how the source does.
Connect opposite(Connect connect) {
  switch (connect) {
    case Connect::connect:
      return Connect::listen;
    case Connect::listen:
      return Connect::connect;
    case Connect::in_process:
      break;
  }
  return connect;
}

bool can_be_copied(const tree::PathFacts& facts) {
  return facts.kind != PathKind::missing && facts.kind != PathKind::unusable;
}

// A session of ssh keeps a processor busy at each of its ends, so where both ends share the processors only
// half as many help. sshd lets ten sessions share a connection (sshd_config(5), MaxSessions).
unsigned streams_through_ssh(const CopyRequest& request, const SourceSide& source, const TargetSide& target,
                             unsigned streams) {
  if (request.streams != 0) return streams;
  const unsigned most = std::min(streams, kStreamsThroughSshMax);
  return same_kernel(source, target) ? std::max(most / 2, 1U) : most;
}

DataPathWish wish_of(const CopyRequest& request, const SourceSide& source, const TargetSide& target,
                     const RoundTrip& round_trip) {
  DataPathWish wish;
  wish.transport = request.wish.transport;
  wish.via = request.wish.via;
  wish.port = request.wish.port;
  wish.streams = request.streams;
  wish.chunk_bytes = request.settings.chunk_bytes;
  wish.any_chunk_size = request.any_chunk_size;
  wish.either_way = goes_either_way(request);
  wish.cpus = std::min(source.session->hello()->cpus, target.session->hello()->cpus);
  wish.target_in_order = target.ready->kind == PathKind::byte_stream;
  wish.in_order = wish.target_in_order || source.ready->sources.front().kind == PathKind::byte_stream;
  wish.wraps = request.wraps();
  const bool chained = request.parties.start_targets.size() > 1;
  if (chained) {
    const TargetTree tree(request.parties.start_targets.size(), request.fanout);
    wish.targets = static_cast<unsigned>(tree.depth());
  }
  wish.one_stream = wish.in_order && chained;  // a target that passes on keeps the order of one stream only
  wish.may_grow = request.streams == 0 && request.settings.retry_seconds > 0 && !wish.in_order && !chained;
  if (round_trip.shortest()) wish.round_trip = *round_trip.shortest();
  return wish;
}

Result<DataPath> choose_path(const CopyRequest& request, const SourceSide& source, const TargetSide& target,
                             const DataPathWish& wish) {
  // With encryption only the memory for sealed payloads is locked, and packed ones go there, too. Compression
  // alone needs a second arena.
  const bool seals_rdma = request.wish.encrypt == net::Sealing::always;
  const unsigned arenas = request.wish.compress != net::kCompressOff && !seals_rdma ? 2 : 1;
  const DataPathEnd from{source.session->name(), source.ready->reach, arenas};
  const DataPathEnd to{target.session->name(), target.ready->reach, arenas_of_targets(request)};
  switch (request.parties.source_connects) {
    case Connect::connect:
      return choose_data_path(wish, from, to);
    case Connect::listen:
      return choose_data_path(wish, to, from);
    case Connect::in_process:
      break;
  }
  return data_path_within(wish);
}

// Returns what both begins have in common.
tree::Begin common_begin(const CopyRequest& request, const SourceSide& source, const TargetSide& target,
                         const DataPath& path) {
  const tree::SourceReady& from = *source.ready;
  const tree::TargetReady& to = *target.ready;
  const bool source_connects = request.parties.source_connects == Connect::connect;
  const AgentSession& connecting = source_connects ? *source.session : *target.session;
  tree::Begin begin =
      begin_for(path, from.reach.listens ? from.reach : to.reach, connecting.hello()->protocol);
  if (const auto& reached = request.parties.reached; reached && !begin.hosts.empty()) {
    begin.hosts = {reached->host};
    if (reached->port != 0) begin.port = reached->port;
  }
  if (same_kernel(source, target)) {
    begin.source_device = from.sources.front().device;
    begin.source_inode = from.sources.front().inode;
  }
  begin.as_it_comes = to.kind == PathKind::byte_stream;
  begin.new_mode = to.new_mode;
  // A new file must be no more open than the account at the target and the user here make theirs.
  if (to.kind != PathKind::file) begin.new_mode &= ~request.umask;
  return begin;
}

}  // namespace

bool same_kernel(const SourceSide& source, const TargetSide& target) {
  const std::string& boot_id = source.session->hello()->boot_id;
  return boot_id == target.session->hello()->boot_id && !boot_id.empty();
}

Result<tree::DestinationMapping> land(const CopyRequest& request, const SourceSide& source,
                                      const TargetSide& target) {
  const tree::SyncSettings& sync = request.settings.sync;
  std::vector<std::string> sources = request.sources;
  const std::vector<tree::PathFacts>& facts = source.ready->sources;
  // A mirror never nests, so a directory means what is in it.
  if (sync.mirror && facts.front().kind == PathKind::directory) sources.front() += '/';
  auto landing = tree::land(sources, facts, request.destination, *target.ready,
                            {.same_kernel = same_kernel(source, target) && !request.named_apart,
                             .into_directory = request.into_directory,
                             .removes_source = request.source_wishes.remove_files});
  // A device or pipe has no copy that could be compared, or take the place of SRC.
  const bool wants_file = sync.enabled || request.source_wishes.remove_files;
  if (landing && wants_file && landing->in_place) {
    return io::plain_error(ErrorKind::file, "copy to", request.destination,
                           "is neither a file nor a directory");
  }
  return landing;
}

io::Error too_old_error(const AgentSession& agent, std::string_view option, std::uint32_t needed) {
  return io::plain_error(
      ErrorKind::unreachable, "talk to rdcp on", agent.name(),
      fmt::format(
          "it is too old for {} (it speaks protocol {}, this needs {}): install this version there, or "
          "leave that out",
          option, agent.hello()->protocol, needed));
}

bool goes_either_way(const CopyRequest& request) {
  return request.parties.source_connects != Connect::in_process && !request.parties.reached &&
         !request.one_way && request.wish.transport != tree::Transport::rdma;
}

CopyJobs jobs_of(const CopyRequest& request, EarlierRun earlier) {
  CopyJobs jobs;
  tree::SourceJob& source = jobs.source;
  source.settings = copy_settings(request, earlier);
  source.streams = request.wish;
  source.streams.connect = request.parties.source_connects;
  source.streams.either_way = goes_either_way(request);
  source.paths = request.sources;
  source.standard_input = request.standard_input;
  source.recursive = request.recursive;
  source.copy_devices = request.copy_devices;
  source.tell_sums = request.hear_sum != nullptr;
  source.bytes_per_second = request.bytes_per_second;
  source.selection = request.selection;
  tree::TargetJob& target = jobs.target;
  target.settings = source.settings;
  target.streams = source.streams;
  target.streams.connect = opposite(source.streams.connect);
  target.path = request.destination;
  target.standard_output = request.standard_output;
  target.tree = request.recursive || request.selection.named_only;
  target.marker = request.run_marker;
  if (request.settings.sync.replaces_directories()) target.selection = request.selection;
  return jobs;
}

tree::TargetWishes wishes_of(const CopyRequest& request, const SourceSide& source) {
  tree::TargetWishes wishes = request.wishes;
  const bool copies = source.ready && std::ranges::any_of(source.ready->sources, can_be_copied);
  if (!request.make_path || !copies) return wishes;
  const std::string& path = request.destination;
  const bool is_directory = request.into_directory || request.sources.size() > 1 || path.ends_with('/');
  wishes.make_directory = is_directory ? path : tree::split_local_path(path).directory;
  return wishes;
}

Result<void> tell_wishes(AgentSession& target, const tree::TargetWishes& wishes) {
  return wishes.any() ? tell_if_known(target, wishes, wishes.option()) : Result<void>();
}

Result<void> tell_wishes(AgentSession& source, const tree::SourceWishes& wishes) {
  return wishes.any() ? tell_if_known(source, wishes, wishes.option()) : Result<void>();
}

Result<void> take_found(const tree::PathsFound& answer, const std::string& host, CopyRequest& request) {
  std::vector<std::string> paths;
  std::uint32_t last = 0;
  for (const tree::PathFound& found : answer.found) {
    const bool asked = found.word >= last && found.word < request.sources.size() &&
                       tree::stands_for(request.sources[found.word], found.path);
    if (!asked || paths.size() == tree::kPathsFoundMax) {
      return io::plain_error(ErrorKind::protocol, "find paths on", host,
                             "it names one that it was not asked for: " + io::printable(found.path));
    }
    last = found.word;
    paths.push_back(found.path);
  }
  const bool needs_one = request.settings.sync.mirror || request.selection.named_only;
  if (needs_one && paths.size() > 1) {
    return io::plain_error(ErrorKind::usage, request.settings.sync.mirror ? "--sync" : "--files-from",
                           request.sources.front(),
                           fmt::format("takes one SRC, and this stands for {}", paths.size()));
  }
  request.sources = std::move(paths);
  return {};
}

Result<void> tell_alterations(AgentSession& agent, const tree::Alteration& alteration) {
  if (!alteration.any()) return {};
  return tell_if_known(agent, tree::Alterations{.metadata = alteration},
                       alteration.modes.empty() ? "--chown" : "--chmod");
}

void keep_family(const CopyRequest& request, tree::Reach& reach) {
  if (!request.ipv4 && !request.ipv6) return;
  const auto other = [&](const std::string& host) { return (host.find(':') != host.npos) != request.ipv6; };
  if (std::erase_if(reach.hosts, other) == 0 || !reach.hosts.empty()) return;
  reach.no_tcp_because =
      io::Words(request.ipv4 ? "-4 leaves none of its addresses" : "-6 leaves none of its addresses");
}

bool goes_once(const CopyRequest& request, const CopySides& sides) {
  const auto is_read_once = [](const tree::PathFacts& facts) {
    return facts.kind == tree::PathKind::byte_stream;
  };
  const auto is_written_once = [](const std::unique_ptr<TargetSide>& target) {
    return target->ready && target->ready->kind == tree::PathKind::byte_stream;
  };
  return request.standard_input || request.standard_output ||
         std::ranges::any_of(sides.source().ready->sources, is_read_once) ||
         std::ranges::any_of(sides.targets(), is_written_once);
}

bool may_prove_early(const CopyRequest& request, const CopySides& sides) {
  const net::Sealing encrypt = request.wish.encrypt;
  const bool may_seal = encrypt == net::Sealing::always || encrypt == net::Sealing::rather;
  return may_seal && request.settings.retry_seconds > 0 && !goes_once(request, sides);
}

void tell_names(AgentSession& source, std::string_view named_paths) {
  while (!named_paths.empty()) {
    const bool all = named_paths.size() <= tree::PathsNamed::kBytesMax;
    const std::size_t length =
        all ? named_paths.size() : named_paths.rfind('\0', tree::PathsNamed::kBytesMax - 1) + 1;
    source.tell(tree::PathsNamed{std::string(named_paths.substr(0, length))});
    named_paths.remove_prefix(length);
  }
}

void apply(const Meeting& meeting, CopyBegins& begins) {
  if (meeting.through_ssh) {
    begins.path.streams = begins.streams_through_ssh;
    begins.path.streams_max = 0;
  }
  for (tree::Begin* begin : {&begins.source, &begins.target}) {
    begin->connects = (begin == &begins.source) == meeting.source_connects;
    begin->through_ssh = meeting.through_ssh;
    begin->hosts = meeting.hosts;
    begin->port = meeting.port;
    begin->streams = static_cast<std::uint16_t>(begins.path.streams);
  }
  begins.path.notes.insert(begins.path.notes.end(), meeting.notes.begin(), meeting.notes.end());
}

unsigned arenas_of_targets(const CopyRequest& request) {
  return request.parties.start_targets.size() > 1 ? 1 + std::max(request.fanout, 1u) : 1;
}

Result<std::optional<CopyBegins>> begins_of(const CopyRequest& request, const SourceSide& source,
                                            const TargetSide& target, const RoundTrip& round_trip) {
  const std::vector<tree::PathFacts>& facts = source.ready->sources;
  if (facts.size() != request.sources.size()) {
    return io::plain_error(ErrorKind::protocol, "talk to", source.session->name(),
                           "it reports another number of sources than it was given");
  }
  if (std::ranges::none_of(facts, can_be_copied)) return std::optional<CopyBegins>();
  auto landing = land(request, source, target);
  if (!landing) {
    const bool is_far = request.parties.target_is_far && landing.error().subject == request.destination;
    return is_far ? io::about(target.session->name() + ":" + request.destination, landing.error())
                  : landing.error();
  }
  auto path = choose_path(request, source, target, wish_of(request, source, target, round_trip));
  if (!path) return path.error();
  CopyBegins begins;
  begins.source = common_begin(request, source, target, *path);
  begins.source.beneath_parent = landing->beneath_parent;
  begins.source.in_place = landing->in_place;
  begins.target = begins.source;
  begins.source.connects = request.parties.source_connects == Connect::connect;
  begins.target.connects = request.parties.source_connects == Connect::listen;
  begins.source.landings = std::move(landing->landings);
  begins.target.landings = std::move(landing->admitted);
  begins.streams_through_ssh = streams_through_ssh(request, source, target, path->streams);
  begins.path = std::move(*path);
  return std::optional(std::move(begins));
}

}  // namespace rdcp::cli
