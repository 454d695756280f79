// The messages that say what is to be copied, from where and to where, and by which streams.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/arena.h"
#include "io/file.h"
#include "io/ring.h"
#include "net/rails.h"
#include "tree/copy_settings.h"
#include "tree/message.h"
#include "tree/selection.h"
#include "tree/stream_wish.h"

namespace rdcp::tree {

// An open frame's size when nobody knows it beforehand (standard input, a FIFO).
inline constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 62;

// No job has more streams, and no stream more slots.
inline constexpr unsigned kStreamsMax = 64;
inline constexpr std::uint32_t kSlotsMax = 1 << 16;

struct SourceJob {
  static constexpr MessageType kType = MessageType::source_job;
  CopySettings settings;
  StreamWish streams;
  std::vector<std::string> paths;  // as given; "-" is standard input where standard_input says so
  bool standard_input = false;
  bool recursive = false;
  bool copy_devices = false;           // a device that is a SRC itself is read
  bool tell_sums = false;              // digests of what was copied go to the coordinator (Sums)
  std::uint64_t bytes_per_second = 0;  // 0: no limit
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
  bool tree = false;    // directories, symlinks and special files may come, too
  std::string marker;   // the run's (run_marker.h); empty: none is made
  Selection selection;  // what of the rules protects something from --delete
  auto fields() {
    return std::tuple_cat(settings.fields(), streams.fields(), std::tie(path, standard_output, tree, marker),
                          selection.fields());
  }
};

// What a path given by the user is. `missing` and `unreadable` sources have been reported as problems.
enum class PathKind : std::uint8_t { missing, unusable, file, directory, symlink, special, byte_stream };
constexpr PathKind last_of(PathKind) {
  return PathKind::byte_stream;
}

// A path's identity on its host, for telling that a directory is copied into itself.
struct PathFacts {
  PathKind kind = PathKind::missing;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto fields() { return std::tie(kind, device, inode); }
};

// By what an agent's host can be reached, and how much memory it may lock for RDMA.
struct Reach {
  bool listens = false;
  std::vector<std::string> hosts;  // for TCP: numeric addresses, best first; empty: not by TCP
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
  PathKind kind = PathKind::missing;  // of DST, symlinks followed
  std::vector<PathFacts> ancestors;   // DST (or its parent, where it is missing) and all above it
  bool interrupted = false;    // the same run was cut short before; DST counts as missing if that run made it
  std::uint32_t new_mode = 0;  // permission bits of a copy whose SRC has none (standard input, FIFO, device)
  bool doubtful = false;  // and not on this mount of this boot: what it wrote may not have reached the disk
  Reach reach;
  auto fields() { return std::tie(kind, ancestors, interrupted, new_mode, doubtful, reach); }
};

// To both agents: make the streams and copy.
struct Begin {
  static constexpr MessageType kType = MessageType::begin;
  io::Within<std::uint16_t, 1, kStreamsMax> streams = 1;
  io::Within<std::uint32_t, 1, kSlotsMax> target_slots = 4;  // of each stream
  // At most that of the job: locked memory may be short.
  io::Within<std::uint32_t, io::kPageBytes, kChunkBytesMax> chunk_bytes;
  std::vector<net::Rail> rails;    // tried first
  std::vector<std::string> hosts;  // then these by TCP, best first; empty: no TCP
  std::uint16_t port = 0;
  // Entry::path of each source's top; to the target: of those that are copied, and it takes nothing else.
  std::vector<std::string> landings;
  bool beneath_parent = false;      // target: the root is DST's parent directory, not DST itself
  std::uint64_t source_device = 0;  // target on the same host: of SRC, which --delete must not meet
  std::uint64_t source_inode = 0;   // 0: on another host
  bool in_place = false;            // target: DST itself is written (device, FIFO, standard output)
  bool as_it_comes = false;         // source: the target has no positions, so chunks are as long as they come
  std::uint32_t new_mode = 0;       // source: of what has no permission bits of its own
  auto fields() {
    return std::tie(streams, target_slots, chunk_bytes, rails, hosts, port, landings, beneath_parent,
                    source_device, source_inode, in_place, as_it_comes, new_mode);
  }
};

// To the coordinator: a stream is lost here. From it: the other side has lost one, which may look sound here
// (one end was reset, the other is held open by something in between) and would be waited for for ever.
struct StreamLost {
  static constexpr MessageType kType = MessageType::stream_lost;
  std::uint16_t stream = 0;  // its number
  auto fields() { return std::tie(stream); }
};

}  // namespace rdcp::tree
