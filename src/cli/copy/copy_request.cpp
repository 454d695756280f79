#include "cli/copy/copy_request.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/copy/chain_orders.h"
#include "cli/options/alterations.h"
#include "tree/agent/agent.h"
#include "tree/fs/own_names.h"
#include "tree/select/path_pattern.h"

namespace rdcp::cli {

using tree::Connect;

namespace {

// Returns the name of the run's marker, by which the same command finds it again, whatever directory it is
// given in. The marker lies at each target, so it is the same for all of them, and for a list of some.
std::string run_marker_of(const Options& options) {
  std::string job;
  const auto add = [&job](const Location& location) {
    const bool local = location.kind == Location::Kind::local;
    std::error_code ignored;
    job += location.user + "@" + location.host + ":";
    if (location.port != 0) job += std::to_string(location.port) + ":";
    job += local ? std::filesystem::absolute(location.path, ignored).string() : location.path;
    job += '\0';
  };
  for (const Location& source : options.sources) add(source);
  Location target = options.destination;
  target.host = target.user = "";
  target.port = 0;
  add(target);
  return tree::run_name(job);
}

bool is_stream(const Location& location) {
  return location.kind == Location::Kind::standard_stream;
}

// The side that ssh has reached listens; between two remote hosts it is the target.
Parties parties_of(const Options& options) {
  const auto streams = std::make_shared<tree::LocalStreams>();
  const bool none_remote = !is_remote(options.sources.front()) && !is_remote(options.destination);
  const auto start_at = [&](const Location& location, bool shares = true) -> Parties::Start {
    if (is_remote(location)) {
      RemoteShell shell = options.shell;
      shell.shares = shares;
      return [shell, location] { return AgentSession::start_remote(shell, location); };
    }
    using tree::Confinement;
    const Confinement wanted = none_remote ? Confinement::of_thread : Confinement::of_process;
    tree::AgentConfig config{.umask = options.umask, .confinement = confinement(options.shell, wanted)};
    // Where both sides are here they share memory, and nobody else sends them anything.
    if (none_remote) {
      config.streams.local = streams.get();
      return [streams, config] { return AgentSession::start_thread(config); };
    }
    if (!is_stream(location)) config.standard.input = config.standard.output = -1;
    return [config] { return AgentSession::start_local(config); };
  };
  const bool source_remote = is_remote(options.sources.front());
  Parties parties;
  parties.start_source = start_at(options.sources.front());
  parties.start_targets.push_back(start_at(options.destination));
  // ssh carries the data to the first of several only.
  for (const Location& target : options.further_destinations) {
    parties.start_targets.push_back(start_at(target, false));
  }
  parties.target_is_far = is_remote(options.destination);
  parties.source_connects = parties.target_is_far ? Connect::connect
                            : source_remote       ? Connect::listen
                                                  : Connect::in_process;
  return parties;
}

// Nothing takes the place of what is lost in a chain: another chain is made, which goes on from what is
// there.
void fit_for_chain(const Options& options, CopyRequest& request) {
  request.settings.retry_seconds = 0;
  request.fanout = options.fanout;
  const TargetTree tree(request.parties.start_targets.size(), std::max(options.fanout, 1u));
  request.settings.chunk_bytes =
      chain_chunk_bytes(tree.depth(), static_cast<std::uint32_t>(options.chunk_bytes));
}

// Fills in all but the parties and what is copied where.
CopyRequest request_without_places(const Options& options) {
  CopyRequest request;
  request.view = {.program = options.program,
                  .progress = options.progress,
                  .verbose = options.verbose,
                  .quiet = options.quiet};
  request.settings = {.chunk_bytes = chain_chunk_bytes(1, static_cast<std::uint32_t>(options.chunk_bytes)),
                      .cache = options.cache,
                      .ring = options.ring,
                      .keep_owner = options.owner,
                      .keep_xattrs = options.xattrs,
                      .numeric_ids = options.numeric_ids,
                      .inplace = options.inplace,
                      .congestion = options.congestion,
                      .verify = options.verify,
                      .resume = options.resume,
                      .fsync = options.fsync,
                      .retry_seconds = options.retry_seconds,
                      .sync = options.sync};
  request.any_chunk_size = options.chunk_bytes == 0;
  request.whole_file = options.whole_file;
  request.umask = options.umask;
  request.alteration = alteration_of(options);
  request.bytes_per_second = options.bwlimit;
  request.wish.transport = options.transport;
  const bool only_ssh = options.via == kViaSsh;
  request.ssh_data = only_ssh ? Options::SshData::always : options.ssh_data;
  request.carrier = program_name(options.shell);
  if (only_ssh) request.wish.transport = tree::Transport::tcp;
  request.wish.via = only_ssh ? std::string() : options.via;
  request.wish.port = options.data_port;
  request.wish.port_last = options.data_port_last;
  request.wish.encrypt = options.encrypt;
  request.wish.compress = options.compress;
  request.traffic_class = options.traffic_class;
  request.streams = options.streams;
  request.keep_slow = options.keep_slow_hosts;
  request.numa = options.numa;
  request.ipv4 = options.ipv4;
  request.ipv6 = options.ipv6;
  return request;
}

}  // namespace

bool CopyRequest::compresses() const {
  return parties.source_connects != Connect::in_process && wish.compress != net::kCompressOff;
}

bool CopyRequest::wraps() const {
  const bool seals = wish.encrypt == net::Sealing::always;
  return compresses() || (seals && parties.source_connects != Connect::in_process);
}

CopyRequest request_of(const Options& options) {
  CopyRequest request = request_without_places(options);
  const Location& first = options.sources.front();
  request.parties = parties_of(options);
  request.view.sends = is_remote(options.destination) && !is_remote(first);
  for (const Location& source : options.sources) request.sources.push_back(source.path);
  request.finds_sources = is_remote(first) && std::ranges::any_of(request.sources, tree::is_pattern);
  request.standard_input = is_stream(first);
  request.destination = options.destination.path;
  request.standard_output = is_stream(options.destination);
  request.into_directory = options.into_directory;
  request.source_wishes.follow_links = options.copy_links;
  request.source_wishes.remove_files = options.remove_source_files && !options.sync.dry_run;
  request.wishes.strict = request.source_wishes.remove_files;
  request.wishes.backup = options.backup;
  request.wishes.backup_suffix = options.backup_suffix.value_or("");
  request.wishes.backup_directory = options.backup_directory;
  request.wishes.link_directories = options.link_directories;
  request.make_path = options.make_path && !options.sync.dry_run;
  request.recursive = options.recursive;
  request.copy_devices = options.copy_devices;
  request.selection = options.selection;
  request.named_paths = options.named_paths;
  request.named_apart = options.named_apart;
  const bool leaves_marker = options.recursive && options.resume && !options.sync.dry_run;
  if (leaves_marker) request.run_marker = run_marker_of(options);
  if (!options.further_destinations.empty()) fit_for_chain(options, request);
  return request;
}

CopyRequest stream_request(const Options& options, Parties parties) {
  CopyRequest request = request_without_places(options);
  request.parties = std::move(parties);
  request.view.sends = true;
  request.sources = {"-"};
  request.standard_input = true;
  request.destination = "stream";  // the name of the one entry, which the target maps to its own place
  return request;
}

tree::CopySettings copy_settings(const CopyRequest& request, EarlierRun earlier) {
  tree::CopySettings settings = request.settings;
  settings.sync.enabled |= earlier != EarlierRun::none;
  settings.sync.checksum |= earlier == EarlierRun::doubtful;
  settings.delta = (settings.sync.enabled || settings.inplace) && !request.whole_file;
  settings.checksum = settings.sync.checksum && !settings.sync.tells();  // changes are told before files open
  return settings;
}

}  // namespace rdcp::cli
