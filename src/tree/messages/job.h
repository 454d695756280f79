// The messages that say what to copy, from where to where, and by which streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/arena.h"
#include "io/file.h"
#include "io/ring.h"
#include "net/rails/rails.h"
#include "tree/messages/copy_settings.h"
#include "tree/messages/message.h"
#include "tree/messages/selection.h"
#include "tree/messages/stream_wish.h"
#include "tree/messages/target_wishes.h"

namespace rdcp::tree {

// The size in an open frame if nobody knows it beforehand (standard input, a FIFO).
inline constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 62;

// Streams that replace lost ones have numbers below this.
inline constexpr std::size_t kStreamNumbersMax = 4096;

struct SourceJob {
  static constexpr MessageType kType = MessageType::source_job;
  CopySettings settings;
  StreamWish streams;
  std::vector<std::string> paths;  // as the user gave them; "-" is standard input if standard_input is set
  bool standard_input = false;
  bool recursive = false;
  bool copy_devices = false;           // read a device that is itself a SRC
  bool tell_sums = false;              // send digests of what was copied to the coordinator (Sums)
  std::uint64_t bytes_per_second = 0;  // 0 means no limit
  Selection selection;
  auto fields() {
    return std::tuple_cat(
        settings.fields(), streams.fields(),
        std::tie(paths, standard_input, recursive, copy_devices, tell_sums, bytes_per_second),
        selection.fields());
  }
};

struct TargetJob {
  static constexpr MessageType kType = MessageType::target_job;
  CopySettings settings;
  StreamWish streams;
  std::string path;
  bool standard_output = false;
  bool tree = false;    // directories, symlinks and special files may also come
  std::string marker;   // name of the run's marker (run_marker.h); empty if none is made
  Selection selection;  // its rules protect entries from --delete
  TargetWishes wishes;  // no field: they came before it, in a message of their own
  auto fields() {
    return std::tuple_cat(settings.fields(), streams.fields(), std::tie(path, standard_output, tree, marker),
                          selection.fields());
  }
};

// Says what a path given by the user leads to. Sources that are `missing` or `unusable` have been reported as
// problems.
enum class PathKind : std::uint8_t { missing, unusable, file, directory, symlink, special, byte_stream };
constexpr PathKind last_of(PathKind) {
  return PathKind::byte_stream;
}

// A path's identity on its host. It shows if a directory would be copied into itself.
struct PathFacts {
  PathKind kind = PathKind::missing;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto fields() { return std::tie(kind, device, inode); }
};

// How an agent's host can be reached, and how much memory it may lock for RDMA.
struct Reach {
  bool listens = false;
  std::vector<std::string> hosts;  // numeric addresses for TCP, best first; empty if there is no TCP
  std::uint16_t port = 0;
  io::Words no_tcp_because;
  net::RdmaPorts rdma;
  std::uint64_t lockable_bytes = 0;  // io::lockable_bytes()
  auto fields() { return std::tie(listens, hosts, port, no_tcp_because, rdma, lockable_bytes); }
};

struct SourceReady {
  static constexpr MessageType kType = MessageType::source_ready;
  std::vector<PathFacts> sources;
  Reach reach;
  auto fields() { return std::tie(sources, reach); }
};

struct TargetReady {
  static constexpr MessageType kType = MessageType::target_ready;
  PathKind kind = PathKind::missing;  // of DST, with symlinks followed
  std::vector<PathFacts> ancestors;   // DST (or its parent, if it is not a directory) and all above it
  bool interrupted = false;    // this run was cut short before; DST counts as missing if that try made it
  std::uint32_t new_mode = 0;  // for a copy whose SRC has no permission bits (pipe, device)
  bool doubtful = false;  // that try was before a reboot or remount: what it wrote may not be on the disk
  Reach reach;
  auto fields() { return std::tie(kind, ancestors, interrupted, new_mode, doubtful, reach); }
};

// Tells both agents to make the streams and copy.
struct Begin {
  static constexpr MessageType kType = MessageType::begin;
  static constexpr std::uint32_t kRailsAreChosenSince = 13;  // an older agent uses all that it is told
  io::Within<std::uint16_t, 1, kStreamsMax> streams = 1;
  io::Within<std::uint32_t, 1, kSlotsMax> target_slots = 4;  // for each stream
  // At most the job's chunk size. It is less if locked memory is short.
  io::Within<std::uint32_t, io::kPageBytes, kChunkBytesMax> chunk_bytes;
  std::vector<net::Rail> rails;    // tried first: all candidates, the best first
  std::vector<std::string> hosts;  // tried next, by TCP, best first; empty if there is no TCP
  std::uint16_t port = 0;
  bool connects = false;  // this agent connects by TCP; for streams that may be made either way
  // The connections come through ssh: this agent takes them at the port where it listens, also if it connects
  // in the sense of the handshake.
  bool through_ssh = false;
  // Entry::path of each source's top. The target gets only those that are copied, and accepts nothing outside
  // them.
  std::vector<std::string> landings;
  bool beneath_parent = false;      // the root is DST's parent directory, not DST
  std::uint64_t source_device = 0;  // target on SRC's host: identity of SRC, which must stay
  std::uint64_t source_inode = 0;   // 0 if SRC is on another host
  bool in_place = false;            // DST itself is written (device, FIFO, standard output)
  bool as_it_comes = false;         // source: the target has no positions, so each read is sent at once
  std::uint32_t new_mode = 0;       // source: mode of what has no permission bits of its own
  auto fields() {
    return std::tie(streams, target_slots, chunk_bytes, rails, hosts, port, connects, through_ssh, landings,
                    beneath_parent, source_device, source_inode, in_place, as_it_comes, new_mode);
  }
};

// Tells the coordinator that a stream is lost here, or tells an agent that the other side has lost one. That
// stream may look sound here (one end was reset, and something in between holds the other one open), and the
// agent would wait for it for ever.
struct StreamLost {
  static constexpr MessageType kType = MessageType::stream_lost;
  std::uint16_t stream = 0;  // the stream's number
  auto fields() { return std::tie(stream); }
};

}  // namespace rdcp::tree
