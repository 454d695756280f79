#include "cli/copy/coordinator.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/copy/limits.h"
#include "cli/text/exit_status.h"
#include "net/crypto/handshake.h"
#include "tree/fs/own_names.h"
#include "tree/messages/paths_named.h"

namespace rdcp::cli {

using io::ErrorKind;
using tree::Connect;

namespace {

constexpr std::uint32_t kChunkBytes = 1 << 20;
constexpr unsigned kPings = 3;
constexpr std::chrono::milliseconds kAbortGrace{1500};

// Returns the name of the run's marker, by which the same command finds it again, whatever directory it is
// given in.
std::string run_marker_of(const Options& options) {
  std::string job;
  const auto add = [&job](const Location& location) {
    const bool local = location.kind == Location::Kind::local;
    std::error_code ignored;
    job += location.user + "@" + location.host + ":";
    job += local ? std::filesystem::absolute(location.path, ignored).string() : location.path;
    job += '\0';
  };
  for (const Location& source : options.sources) add(source);
  add(options.destination);
  return tree::run_name(job);
}

bool is_stream(const Location& location) {
  return location.kind == Location::Kind::standard_stream;
}

}  // namespace

Coordinator::Coordinator(const Options& options, int signal_fd) : Coordinator(options, signal_fd, {}) {}

Coordinator::Coordinator(const Options& options, int signal_fd, Parties parties)
    : options_(options),
      signal_fd_(signal_fd),
      parties_(parties.start_source ? std::move(parties) : parties_of_locations()),
      has_terminal_(has_terminal()),
      progress_(progress_wanted(options.progress, options.quiet, STDERR_FILENO)) {}

int Coordinator::run() {
  const auto begun = [this] { return source_->done && target_->done; };
  if (start_agents() && send_jobs() && begin() && turn_until(begun)) {
    const bool complete = source_->done->complete && target_->done->complete;
    if (!complete && status_ == 0) status_ = kExitConnection;
  } else {
    abort_agents();
  }
  progress_.clear();
  if (source_ && target_ && source_->done && target_->done && !interrupted_) {
    outcome_ = summary();
    if (!options_.quiet) print(warning_lines(*outcome_));
    if (options_.verbose) print(summary_lines(*outcome_));
    if (options_.json && !options_.sync.dry_run) print_lines(summary_json(*outcome_));
  }
  for (AgentLink* link : {source_.get(), target_.get()}) {
    if (link == nullptr) continue;
    const tree::Finish finish{.status = static_cast<std::uint8_t>(status_)};
    if (!link->gone) link->tell(finish);
    link->end(interrupted_ || link->gone);
  }
  return status_;
}

// The side that ssh has reached listens; between two remote hosts it is the target.
Parties Coordinator::parties_of_locations() {
  const auto start_at = [this](const Location& location) -> Parties::Start {
    return [this, &location] {
      return is_remote(location) ? AgentLink::start_remote(options_, location)
                                 : AgentLink::start_local({.program_version = {},
                                                           .umask = options_.umask,
                                                           .streams = {.local = &local_streams_}});
    };
  };
  const bool source_remote = is_remote(options_.sources.front());
  Parties parties;
  parties.start_source = start_at(options_.sources.front());
  parties.start_target = start_at(options_.destination);
  parties.target_is_far = is_remote(options_.destination);
  parties.source_connects = parties.target_is_far ? Connect::connect
                            : source_remote       ? Connect::listen
                                                  : Connect::in_process;
  return parties;
}

bool Coordinator::start_agents() {
  auto target = parties_.start_target();
  if (!target) return fail(target.error()), false;
  target_ = std::move(*target);
  auto source = parties_.start_source();
  if (!source) return fail(source.error()), false;
  source_ = std::move(*source);
  return true;
}

tree::CopySettings Coordinator::settings() const {
  tree::SyncSettings sync = options_.sync;
  sync.enabled |= goes_on_;
  sync.checksum |= doubts_;
  const bool delta = (sync.enabled || options_.inplace) && !options_.whole_file;
  return {.chunk_bytes =
              options_.chunk_bytes != 0 ? static_cast<std::uint32_t>(options_.chunk_bytes) : kChunkBytes,
          .cache = options_.cache,
          .ring = options_.ring,
          .keep_owner = options_.owner,
          .keep_xattrs = options_.xattrs,
          .numeric_ids = options_.numeric_ids,
          .delta = delta,
          .inplace = options_.inplace,
          .checksum = sync.checksum && !sync.tells(),  // changes are told before files are opened
          .congestion = options_.congestion,
          .verify = options_.verify,
          .resume = options_.resume,
          .fsync = options_.fsync,
          .retry_seconds = options_.retry_seconds,
          .sync = sync};
}

bool Coordinator::send_jobs() {
  auto key = parties_.have_key ? io::Result<net::SessionKey>(net::SessionKey{}) : net::make_session_key();
  if (!key) return fail(key.error()), false;
  const tree::StreamWish wish{
      parties_.source_connects, options_.transport, options_.via, options_.data_port, *key,
      options_.encrypt,         options_.compress};
  if (!turn_until([this] { return source_->hello || target_->hello; })) return false;
  if (!send_jobs(wish)) return false;
  if (!target_->target_ready->interrupted || options_.sync.enabled) return true;
  // An earlier run was interrupted. What it has copied is skipped as by --sync, so both agents get their jobs
  // again with that setting.
  goes_on_ = true;
  doubts_ = target_->target_ready->doubtful;
  source_->source_ready.reset();
  target_->target_ready.reset();
  return send_jobs(wish);
}

// Sends each agent its job as soon as it has said hello, so that a local source walks its tree while ssh is
// still connecting.
bool Coordinator::send_jobs(const tree::StreamWish& wish) {
  tree::SourceJob source_job;
  source_job.settings = settings();
  source_job.streams = wish;
  source_job.standard_input = is_stream(options_.sources.front());
  source_job.recursive = options_.recursive;
  source_job.copy_devices = options_.copy_devices;
  source_job.tell_sums = hear_sum_ != nullptr;
  source_job.bytes_per_second = options_.bwlimit;
  source_job.selection = options_.selection;
  for (const Location& source : options_.sources) source_job.paths.push_back(source.path);
  tree::TargetJob target_job;
  if (options_.sync.delete_extra) target_job.selection = options_.selection;
  target_job.settings = settings();
  if (options_.sync.delete_extra) target_job.selection = options_.selection;
  target_job.streams = source_job.streams;
  if (parties_.source_connects == Connect::connect) target_job.streams.connect = Connect::listen;
  if (parties_.source_connects == Connect::listen) target_job.streams.connect = Connect::connect;
  target_job.path = options_.destination.path;
  target_job.standard_output = is_stream(options_.destination);
  target_job.tree = options_.recursive || options_.selection.named_only;
  const bool leaves_marker = options_.recursive && options_.resume && !options_.sync.enabled;
  if (leaves_marker) target_job.marker = run_marker_of(options_);

  bool source_sent = false;
  bool target_sent = false;
  const auto ready = [&] {
    measure_round_trip();
    if (source_->hello && !std::exchange(source_sent, true)) {
      send_names();
      source_->tell(source_job);  // an agent that is gone shows when it is read from
    }
    if (target_->hello && !std::exchange(target_sent, true)) {
      target_->tell(target_job);
    }
    return source_->source_ready && target_->target_ready;
  };
  return turn_until(ready);
}

// Sends the paths of --files-from, as many in each message as it may have.
void Coordinator::send_names() {
  if (!options_.named_paths) return;
  for (std::string_view rest = *options_.named_paths; !rest.empty();) {
    const bool all = rest.size() <= tree::PathsNamed::kBytesMax;
    const std::size_t length = all ? rest.size() : rest.rfind('\0', tree::PathsNamed::kBytesMax - 1) + 1;
    source_->tell(tree::PathsNamed{std::string(rest.substr(0, length))});
    rest.remove_prefix(length);
  }
}

// Measures the round trip to the far side, and keeps the shortest of a few, since the others had to wait for
// a processor.
void Coordinator::measure_round_trip() {
  AgentLink& far = parties_.target_is_far ? *target_ : *source_;
  if (!far.hello || far.pongs < pings_) return;
  if (pings_ > 0) round_trip_ = std::min(round_trip_, Clock::now() - pinged_);
  if (pings_ == kPings) return;
  ++pings_;
  pinged_ = Clock::now();
  far.tell(tree::Ping());
}

bool Coordinator::wraps() const {
  return parties_.source_connects != Connect::in_process &&
         (options_.encrypt || options_.compress != net::kCompressOff);
}

io::Result<DataPath> Coordinator::choose_path(bool in_order) const {
  DataPathWish wish;
  wish.transport = options_.transport;
  wish.via = options_.via;
  wish.streams = options_.streams;
  wish.chunk_bytes = settings().chunk_bytes;
  wish.cpus = std::min(source_->hello->cpus, target_->hello->cpus);
  // A second stream of a byte stream only makes bytes wait for each other, unless sealing or packing is work
  // for another processor. Half of the processors are left to what writes into the pipe and reads from it.
  wish.one_stream = in_order && !wraps();
  if (in_order && wish.streams == 0) wish.streams = std::clamp(wish.cpus / 2, 1U, kOrderedStreamsMax);
  if (round_trip_ != Clock::duration::max()) wish.round_trip = round_trip_;
  // With encryption only the memory for sealed payloads is locked, and packed ones go there, too. Compression
  // alone needs a second arena.
  const unsigned arenas = options_.compress != net::kCompressOff && !options_.encrypt ? 2 : 1;
  const DataPathEnd source{source_->name(), source_->source_ready->reach, arenas};
  const DataPathEnd target{target_->name(), target_->target_ready->reach};
  switch (parties_.source_connects) {
    case Connect::connect:
      return choose_data_path(wish, source, target);
    case Connect::listen:
      return choose_data_path(wish, target, source);
    case Connect::in_process:
      break;
  }
  return data_path_within(wish);
}

bool Coordinator::begin() {
  std::vector<std::string> sources;
  for (const Location& source : options_.sources) sources.push_back(source.path);
  const tree::SourceReady& source = *source_->source_ready;
  const tree::TargetReady& target = *target_->target_ready;
  if (source.sources.size() != sources.size()) {
    return fail(io::plain_error(ErrorKind::protocol, "talk to", source_->name(),
                                "it reports another number of sources than it was given")),
           false;
  }
  const bool any =
      std::any_of(source.sources.begin(), source.sources.end(), [](const tree::PathFacts& facts) {
        return facts.kind != tree::PathKind::missing && facts.kind != tree::PathKind::unusable;
      });
  if (!any) return false;  // each has been reported
  const bool same_kernel =
      source_->hello->boot_id == target_->hello->boot_id && !source_->hello->boot_id.empty();
  // A mirror never nests, so a directory means what is in it.
  if (options_.sync.enabled && source.sources.front().kind == tree::PathKind::directory) {
    sources.front() += '/';
  }
  const auto landing = tree::land(sources, source.sources, options_.destination.path, target,
                                  {.same_kernel = same_kernel, .into_directory = options_.into_directory});
  if (!landing) return fail(landing.error()), false;
  if (options_.sync.enabled && landing->in_place) {
    return fail(io::plain_error(ErrorKind::file, "copy to", options_.destination.path,
                                "is neither a file nor a directory")),
           false;
  }

  const bool ordered = target.kind == tree::PathKind::byte_stream ||
                       source.sources.front().kind == tree::PathKind::byte_stream;
  auto path = choose_path(ordered);
  if (!path) return fail(path.error()), false;
  path_ = std::move(*path);
  const tree::Reach& listening = source.reach.listens ? source.reach : target.reach;
  tree::Begin begin = begin_for(path_, listening);
  if (parties_.reached && !begin.hosts.empty()) {
    begin.hosts = {parties_.reached->host};
    if (parties_.reached->port != 0) begin.port = parties_.reached->port;
  }
  if (same_kernel) {
    begin.source_device = source.sources.front().device;
    begin.source_inode = source.sources.front().inode;
  }
  begin.beneath_parent = landing->beneath_parent;
  begin.in_place = landing->in_place;
  begin.as_it_comes = target.kind == tree::PathKind::byte_stream;
  begin.new_mode = target.new_mode;
  // A new file must be no more open than the account at the target and the user here make theirs.
  if (target.kind != tree::PathKind::file) begin.new_mode &= ~options_.umask;
  begun_ = Clock::now();
  begin.landings = landing->admitted;
  target_->tell(begin);
  begin.landings = landing->landings;
  source_->tell(begin);
  return true;
}

Summary Coordinator::summary() const {
  const tree::Done& source = *source_->done;
  const tree::Done& target = *target_->done;
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  Summary result;
  result.program = options_.program;
  result.files = source.files;
  result.directories = source.directories;
  result.others = source.others;
  result.bytes = source.bytes;
  result.seconds = seconds;
  result.streams = path_.streams;
  result.ways = source.streams;
  result.notes = path_.notes;
  for (const tree::Done* done : {&source, &target}) {
    result.notes.insert(result.notes.end(), done->notes.begin(), done->notes.end());
  }
  result.payload_bytes = source.payload_bytes;
  result.packed_bytes = source.packed_bytes;
  result.encrypted = wraps() && options_.encrypt;
  result.compress = wraps() && options_.compress != net::kCompressOff;
  result.ring = source.ring == target.ring ? std::string(source.ring)
                                           : source.ring + " (source), " + target.ring + " (target)";
  result.limited_by = limited_by(source, target, seconds, path_.streams, path_.slots);
  result.retried_chunks = source.resent_chunks;
  result.kept_bytes = source.kept_bytes;
  result.wire_bytes = source.wire_bytes;
  for (const std::string& lost : source.lost_streams) {
    result.warnings.push_back(lost);
  }
  result.warnings.insert(result.warnings.end(), target.warnings.begin(), target.warnings.end());
  for (const tree::Loss& loss : target.losses) {
    result.losses.push_back(
        {std::string(tree::describe(loss.kind)), loss.count, loss.first_path, loss.cause});
  }
  return result;
}

void Coordinator::abort_agents() {
  for (AgentLink* link : {source_.get(), target_.get()}) {
    if (link != nullptr && !link->gone) link->tell(tree::Abort());
  }
  // Agents close their side at their end. One that does not in time is ended by force later.
  const auto deadline = Clock::now() + kAbortGrace;
  while (Clock::now() < deadline) {
    std::array<pollfd, 2> watched{};
    nfds_t count = 0;
    for (AgentLink* link : {source_.get(), target_.get()}) {
      if (link != nullptr && !link->gone && link->remote())
        watched[count++] = {link->control().fd(), POLLIN, 0};
    }
    if (count == 0) return;
    ::poll(watched.data(), count, 100);
    for (AgentLink* link : {source_.get(), target_.get()}) {
      if (link == nullptr || link->gone || !link->remote()) continue;
      for (const pollfd& entry : watched) {
        if (entry.fd == link->control().fd() && entry.revents != 0) (void)link->receive().ok();
      }
    }
  }
}

}  // namespace rdcp::cli
