// What a coordinator and its agents say to each other; control.h carries it. All of it is low-rate.
//
// Coordinator -> agent: ping, source_job | target_job, begin, beat, suspend, abort, finish.
// Agent -> coordinator: hello first, then pong, source_ready | target_ready, progress, problem, done.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/file.h"
#include "io/result.h"
#include "io/ring.h"
#include "net/address.h"
#include "net/handshake.h"
#include "tree/metadata.h"

namespace rdcp::tree {

// One number for messages, frames and the handshake; two agents of different versions do not talk.
inline constexpr std::uint32_t kProtocolVersion = net::kProtocolVersion;

// An open frame's size when nobody knows it beforehand (standard input, a FIFO).
inline constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 62;

enum class MessageType : std::uint8_t {
  hello = 1,
  ping,
  pong,
  source_job,
  target_job,
  source_ready,
  target_ready,
  begin,
  progress,
  problem,
  done,
  beat,
  suspend,
  abort,
  finish,
};

struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  std::uint32_t protocol = kProtocolVersion;
  std::string program_version;
  std::uint32_t cpus = 1;
  std::string boot_id;  // of the kernel: two agents with the same one see the same files
  auto fields() { return std::tie(protocol, program_version, cpus, boot_id); }
};

struct Ping {
  static constexpr MessageType kType = MessageType::ping;
  auto fields() { return std::tie(); }
};

struct Pong {
  static constexpr MessageType kType = MessageType::pong;
  auto fields() { return std::tie(); }
};

// What both sides must know of how to copy.
struct CopySettings {
  std::uint32_t chunk_bytes = 0;  // size of a slot, a multiple of 4096
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  bool keep_owner = true;
  bool keep_xattrs = true;
  bool numeric_ids = false;
  std::string congestion;  // TCP congestion control; empty: the system's
  auto fields() {
    return std::tie(chunk_bytes, cache, ring, keep_owner, keep_xattrs, numeric_ids, congestion);
  }

  MetadataPolicy policy() const { return {keep_owner, keep_xattrs, numeric_ids}; }
};

// How an agent takes part in making the streams.
enum class Connect : std::uint8_t { listen, connect, in_process };

struct SourceJob {
  static constexpr MessageType kType = MessageType::source_job;
  CopySettings settings;
  Connect connect = Connect::connect;
  std::string via;
  net::SessionKey key{};
  std::vector<std::string>
      paths;  // as the user gave them; "-" is standard input where standard_input says so
  bool standard_input = false;
  bool recursive = false;
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  auto fields() {
    return std::tuple_cat(settings.fields(),
                          std::tie(connect, via, key, paths, standard_input, recursive, bytes_per_second));
  }
};

struct TargetJob {
  static constexpr MessageType kType = MessageType::target_job;
  CopySettings settings;
  Connect connect = Connect::listen;
  std::string via;
  net::SessionKey key{};
  std::string path;
  bool standard_output = false;
  auto fields() {
    return std::tuple_cat(settings.fields(), std::tie(connect, via, key, path, standard_output));
  }
};

// What a path given by the user is. `missing` and `unreadable` sources have been reported as problems.
enum class PathKind : std::uint8_t { missing, unusable, file, directory, symlink, special, byte_stream };

// A path's identity on its host, for telling that a directory is copied into itself.
struct PathFacts {
  PathKind kind = PathKind::missing;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto fields() { return std::tie(kind, device, inode); }
};

struct Listening {
  std::vector<std::string> hosts;  // numeric addresses, best first; empty: this agent does not listen
  std::uint16_t port = 0;
};

struct SourceReady {
  static constexpr MessageType kType = MessageType::source_ready;
  std::vector<PathFacts> sources;
  Listening listening;
  auto fields() { return std::tie(sources, listening.hosts, listening.port); }
};

struct TargetReady {
  static constexpr MessageType kType = MessageType::target_ready;
  PathKind kind = PathKind::missing;  // of DST, symlinks followed
  std::vector<PathFacts> ancestors;   // DST (or its parent, where it is missing) and all above it
  Listening listening;
  auto fields() { return std::tie(kind, ancestors, listening.hosts, listening.port); }
};

// To both agents: make the streams and copy.
struct Begin {
  static constexpr MessageType kType = MessageType::begin;
  std::uint16_t streams = 1;
  std::uint32_t target_slots = 4;  // of each stream
  std::vector<std::string> hosts;  // to whom connect() goes, best first
  std::uint16_t port = 0;
  std::vector<std::string> landings;  // source: Entry::path of each source's top; target: unused
  bool beneath_parent = false;        // target: the root is DST's parent directory, not DST itself
  bool in_place = false;              // target: DST itself is written (device, FIFO, standard output)
  auto fields() { return std::tie(streams, target_slots, hosts, port, landings, beneath_parent, in_place); }
};

struct Progress {
  static constexpr MessageType kType = MessageType::progress;
  std::uint64_t bytes_done = 0;
  std::uint64_t files_done = 0;
  std::uint64_t bytes_total = 0;  // so far
  std::uint64_t files_total = 0;
  bool total_known = false;  // the walk is over
  std::string path;          // one of those under way
  auto fields() { return std::tie(bytes_done, files_done, bytes_total, files_total, total_known, path); }
};

// One thing that went wrong (or, as a warning, deserves a word), already in words.
struct Problem {
  static constexpr MessageType kType = MessageType::problem;
  io::ErrorKind kind = io::ErrorKind::file;
  bool warning = false;   // does not count against the exit status
  bool ends_run = false;  // the coordinator ends both agents; what else they meet is only what follows
  std::string text;
  auto fields() { return std::tie(kind, warning, ends_run, text); }
};

struct Loss {
  LossKind kind = LossKind::owner;
  std::uint64_t count = 0;
  std::string first_path;
  std::string cause;
  auto fields() { return std::tie(kind, count, first_path, cause); }
};

// Where slots spent their time, in nanoseconds summed over an agent's coroutines.
struct StageTimes {
  std::uint64_t read_ns = 0, digest_ns = 0, credit_ns = 0, send_ns = 0, receive_ns = 0, write_ns = 0,
                idle_ns = 0;
  auto fields() { return std::tie(read_ns, digest_ns, credit_ns, send_ns, receive_ns, write_ns, idle_ns); }
};

struct Done {
  static constexpr MessageType kType = MessageType::done;
  bool complete = false;  // every work item was settled; problems may still have been reported
  std::uint64_t files = 0, directories = 0, others = 0, bytes = 0, resent_chunks = 0;
  std::string transport;
  std::string ring;
  StageTimes times;
  std::vector<Loss> losses;
  auto fields() {
    return std::tuple_cat(
        std::tie(complete, files, directories, others, bytes, resent_chunks, transport, ring), times.fields(),
        std::tie(losses));
  }
};

struct Beat {
  static constexpr MessageType kType = MessageType::beat;
  auto fields() { return std::tie(); }
};

// The coordinator is about to be stopped by the user's terminal: do not miss its beat until the next message.
struct Suspend {
  static constexpr MessageType kType = MessageType::suspend;
  auto fields() { return std::tie(); }
};

struct Abort {
  static constexpr MessageType kType = MessageType::abort;
  auto fields() { return std::tie(); }
};

// All is said; the agent exits.
struct Finish {
  static constexpr MessageType kType = MessageType::finish;
  auto fields() { return std::tie(); }
};

}  // namespace rdcp::tree
