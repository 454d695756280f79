#include "cli/layout/data_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/options/options.h"
#include "cli/text/human.h"
#include "io/arena.h"
#include "io/locked_memory.h"
#include "net/tcp/tcp.h"

namespace rdcp::cli {

using io::ErrorKind;
using tree::Transport;

namespace {

constexpr unsigned kStreamsMin = 2;
constexpr unsigned kStreamsAutomaticMax = 8;
// A long path has as many streams as make this rate, but no more than that.
constexpr double kLongPathBytesPerSecond = 1.25e9;
constexpr unsigned kStreamsOfLongPathMax = 16;
// All later bytes of a pipe wait for the chunk of the slowest stream, so there are fewer streams, and chunks
// are smaller (measured: 1.3 times the rate of one stream at 20 ms, 2.8 times at 100 ms, where 16 streams
// with chunks of 1 MiB are hardly faster than one).
constexpr unsigned kStreamsOfLongPipeMax = 4;
constexpr std::uint32_t kChunkBytesOfLongPipe = 256 << 10;
constexpr std::uint32_t kMegabitsOfPipe = 20'000;  // a pipe carries about 2.5 GB/s
constexpr std::uint64_t kArenaBytes = 64 << 20;    // at most, of all streams of one agent
constexpr std::uint32_t kSlotsWanted = 4;          // at least, where memory allows
constexpr std::uint32_t kSlotsMin = 2;
// The rate for which all streams together are laid out; with the round-trip time it says how many chunks must
// be under way.
constexpr double kBytesPerSecond = 5e9;
// At most this much memory is locked for the queues and frames of a stream, and of each of its slots, besides
// the slots themselves (measured: 172 KiB of frames for 510 slots; devices add work requests and completions
// of up to 128 bytes each).
constexpr std::uint64_t kQueueBytes = 96 << 10;
constexpr std::uint64_t kQueueBytesOfSlot = 1 << 10;

// Returns how many streams the processors are for. Half of them are left to what writes into a pipe and reads
// from it.
unsigned streams_for(const DataPathWish& wish) {
  if (wish.one_stream) return 1;
  if (wish.streams != 0) return wish.streams;
  if (!wish.in_order) return std::clamp(wish.cpus, kStreamsMin, kStreamsAutomaticMax);
  return wish.wraps ? std::clamp(wish.cpus / 2, 1U, kStreamsAutomaticMax) : 1;
}

bool is_automatic(const DataPathWish& wish) {
  return wish.streams == 0 && !wish.one_stream;
}

double streams_that_fill(std::chrono::duration<double> round_trip) {
  return std::ceil(round_trip.count() * kLongPathBytesPerSecond / net::kTcpBytesPerRoundTrip);
}

unsigned streams_over_tcp(const DataPathWish& wish) {
  const unsigned streams = streams_for(wish);
  if (!is_automatic(wish)) return streams;
  const unsigned most = wish.in_order ? std::max(streams, kStreamsOfLongPipeMax) : kStreamsOfLongPathMax;
  return static_cast<unsigned>(std::clamp<double>(streams_that_fill(wish.round_trip), streams, most));
}

std::uint32_t chunk_bytes_over_tcp(const DataPathWish& wish, unsigned streams) {
  const bool wait_for_each_other = wish.in_order && streams > 1 && streams_that_fill(wish.round_trip) > 1;
  return wait_for_each_other && wish.any_chunk_size ? std::min(wish.chunk_bytes, kChunkBytesOfLongPipe)
                                                    : wish.chunk_bytes;
}

// Returns at least one stream for each rail. A byte stream has no use for more than one where a single link
// is as fast as a pipe, or does not say how fast it is.
unsigned streams_over_rails(const DataPathWish& wish, const std::vector<net::Rail>& rails) {
  const unsigned streams = streams_for(wish);
  if (!is_automatic(wish)) return streams;
  const std::uint32_t megabits = rails.front().megabits();  // 0: the device does not say
  if (wish.in_order && (megabits == 0 || megabits >= kMegabitsOfPipe)) return streams;
  const auto most = wish.in_order ? kStreamsAutomaticMax : tree::kStreamsMax;
  return std::clamp<unsigned>(static_cast<unsigned>(rails.size()), std::max(streams, kStreamsMin), most);
}

// Returns enough slots to fill the path for one round trip, and no more, because a small arena stays in the
// cache.
std::uint32_t slots_for(const DataPathWish& wish, unsigned streams, std::uint32_t chunk_bytes) {
  const double of_chain = (2.0 * wish.targets + kSlotsWanted) / streams;
  const double in_use = std::max({static_cast<double>(kSlotsWanted), wish.targets > 1 ? of_chain : 0.0,
                                  wish.round_trip.count() * kBytesPerSecond / streams / chunk_bytes});
  const double wanted = in_use + (wish.target_in_order ? 1 : 0);
  const std::uint64_t most = std::max<std::uint64_t>(kArenaBytes / streams / chunk_bytes, kSlotsMin);
  return static_cast<std::uint32_t>(std::min<double>(wanted, static_cast<double>(most)));
}

std::uint64_t locked_bytes(const DataPath& path) {
  return path.streams * (path.slots * (path.chunk_bytes + kQueueBytesOfSlot) + kQueueBytes);
}

// Shrinks the path until no more than `lockable` bytes are locked. Returns false if even the smallest path
// locks more.
bool shrink_to(std::uint64_t lockable, DataPath& path) {
  const auto too_much = [&] { return locked_bytes(path) > lockable; };
  while (too_much() && path.slots > kSlotsWanted) --path.slots;
  while (too_much() && path.chunk_bytes / 2 >= kChunkBytesMin) {
    path.chunk_bytes = path.chunk_bytes / 2 / io::kPageBytes * io::kPageBytes;
  }
  while (too_much() && path.slots > kSlotsMin) --path.slots;
  while (too_much() && path.streams > 1) --path.streams;
  return !too_much();
}

std::uint64_t lockable_for_each(const DataPathEnd& end) {
  return end.reach.lockable_bytes / end.arenas;
}

// Twice as many streams are as many as any target takes.
unsigned streams_later(const DataPathWish& wish, const DataPath& path) {
  if (!wish.may_grow) return 0;
  const std::uint64_t of_memory = kArenaBytes / path.chunk_bytes / path.slots;
  const auto most =
      static_cast<unsigned>(std::min<std::uint64_t>({2 * path.streams, of_memory, tree::kStreamsMax}));
  return most > path.streams ? most : 0;
}

const DataPathEnd& who_locks_less(const DataPathEnd& a, const DataPathEnd& b) {
  return lockable_for_each(b) < lockable_for_each(a) ? b : a;
}

// Limits the slots to what the devices can hold. Each slot takes two work requests at the source.
std::uint32_t slots_of_devices(const std::vector<net::Rail>& rails, std::uint32_t slots) {
  constexpr std::uint32_t kBeside = 16;  // work requests for the end, probes and the handshake
  for (const net::Rail& rail : rails) {
    for (const net::RdmaPort* port : {&rail.connecting, &rail.listening}) {
      if (port->work_requests_max > kBeside) {
        slots = std::min(slots, (port->work_requests_max - kBeside) / 2);
      }
    }
  }
  return std::max(slots, 1u);
}

// Warns of the first rail over Ethernet whose ends have different MTUs: the one that connects takes its own
// for both, so packets are dropped, or are smaller than they could be. With InfiniBand the subnet manager
// knows both.
void warn_of_mtus(const DataPathEnd& connecting, const DataPathEnd& listening, DataPath& path) {
  const auto differ = [](const net::Rail& rail) {
    return rail.connecting.link == net::LinkKind::roce && !rail.connecting.by_hand() &&
           rail.connecting.mtu_bytes != 0 && rail.listening.mtu_bytes != 0 &&
           rail.connecting.mtu_bytes != rail.listening.mtu_bytes;
  };
  const auto rails = net::best_rails(path.rails);
  const auto found = std::ranges::find_if(rails, differ);
  if (found == rails.end()) return;
  const auto said = [](const DataPathEnd& end, const net::RdmaPort& port) {
    return fmt::format("{} on {} carries {} bytes in a packet", port.name(), end.host, port.mtu_bytes);
  };
  path.warnings.emplace_back(fmt::format(
      "{}, {}: set the same MTU on {} and on {}", said(connecting, found->connecting),
      said(listening, found->listening), found->connecting.interface, found->listening.interface));
}

// Says why there are rails without librdmacm.
void note_lack_of_cm(const DataPathEnd& connecting, const DataPathEnd& listening, DataPath& path) {
  const auto by_hand = [](const net::Rail& rail) { return rail.connecting.by_hand(); };
  if (std::ranges::none_of(net::best_rails(path.rails), by_hand)) return;
  std::string note = "RDMA connections are made without rdma_cm";
  for (const DataPathEnd* end : {&connecting, &listening}) {
    if (!end->reach.rdma.none_because.empty()) note += "; " + end->host + ": " + end->reach.rdma.none_because;
  }
  path.notes.emplace_back(std::move(note));
}

// Why RDMA cannot be used.
struct NoRdma {
  std::string reason;  // empty: it can
  ErrorKind kind = ErrorKind::connection;
};

// Lays the path out over RDMA if it can.
NoRdma try_rdma(const DataPathWish& wish, const DataPathEnd& connecting, const DataPathEnd& listening,
                DataPath& path) {
  for (const DataPathEnd* end : {&connecting, &listening}) {
    if (end->reach.rdma.usable.empty()) return {end->host + ": " + end->reach.rdma.none_because};
  }
  net::RailChoice choice = net::choose_rails(connecting.reach.rdma, listening.reach.rdma, wish.via);
  if (choice.candidates.empty()) {
    return {choice.none_because, choice.via_is_nowhere ? ErrorKind::usage : ErrorKind::connection};
  }
  DataPath wanted = path;
  wanted.chunk_bytes = wish.chunk_bytes;
  wanted.streams = streams_over_rails(wish, net::best_rails(choice.candidates));
  wanted.slots = slots_of_devices(choice.candidates, slots_for(wish, wanted.streams, wanted.chunk_bytes));
  DataPath fitting = wanted;
  const DataPathEnd& least = who_locks_less(connecting, listening);
  const std::string limit = "the locked-memory limit of " + least.host + " (ulimit -l) is " +
                            format_bytes(least.reach.lockable_bytes);
  if (!shrink_to(lockable_for_each(least), fitting)) {
    return {limit + ", and RDMA needs " + format_bytes(least.arenas * locked_bytes(fitting)) + ": " +
            io::kHowToLockMore};
  }
  if (locked_bytes(fitting) < locked_bytes(wanted)) {
    fitting.notes.push_back(limit + ", so there are only " + plural(fitting.streams, "stream", "streams") +
                            " of " + plural(fitting.slots, "slot", "slots") + " of " +
                            format_bytes(fitting.chunk_bytes) + ": " + io::kHowToLockMore);
  }
  DataPath later = fitting;
  later.streams = streams_later(wish, fitting);
  while (later.streams > fitting.streams && locked_bytes(later) > lockable_for_each(least)) --later.streams;
  fitting.streams_max = later.streams > fitting.streams ? later.streams : 0;
  path = std::move(fitting);
  path.rails = std::move(choice.candidates);
  warn_of_mtus(connecting, listening, path);
  note_lack_of_cm(connecting, listening, path);
  return {};
}

}  // namespace

io::Result<DataPath> choose_data_path(const DataPathWish& wish, const DataPathEnd& connecting,
                                      const DataPathEnd& listening) {
  DataPath path;
  path.streams = streams_over_tcp(wish);
  path.chunk_bytes = chunk_bytes_over_tcp(wish, path.streams);
  path.slots = slots_for(wish, path.streams, path.chunk_bytes);
  path.streams_max = streams_later(wish, path);
  path.tcp = wish.transport != Transport::rdma && !listening.reach.hosts.empty();
  if (wish.transport == Transport::tcp) return path;
  const auto [reason, kind] = try_rdma(wish, connecting, listening, path);
  if (reason.empty()) return path;
  if (wish.transport == Transport::rdma) return io::plain_error(kind, "use RDMA to", listening.host, reason);
  if (!path.tcp && !wish.either_way) {
    return io::plain_error(kind_of_no_listener(wish.via, wish.port), "listen at", listening.host,
                           listening.reach.no_tcp_because + "; RDMA: " + reason);
  }
  path.notes.push_back("RDMA was not used: " + reason);
  return path;
}

io::ErrorKind kind_of_no_listener(const std::string& via, std::uint16_t port) {
  return via.empty() && port == 0 ? ErrorKind::connection : ErrorKind::usage;
}

tree::Begin begin_for(const DataPath& path, const tree::Reach& listening, std::uint32_t connecting_protocol) {
  tree::Begin begin;
  begin.streams = static_cast<std::uint16_t>(path.streams);
  begin.target_slots = path.slots;
  begin.chunk_bytes = path.chunk_bytes;
  const bool chooses = connecting_protocol >= tree::Begin::kRailsAreChosenSince;
  begin.rails = chooses ? path.rails : net::best_rails(path.rails);
  if (path.tcp) begin.hosts = listening.hosts;
  begin.port = listening.port;
  return begin;
}

DataPath data_path_within(const DataPathWish& wish) {
  DataPath path;
  path.streams = streams_for(wish);
  path.chunk_bytes = wish.chunk_bytes;
  path.slots = kSlotsWanted;
  return path;
}

}  // namespace rdcp::cli
