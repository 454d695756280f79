// What a coordinator and its agents say to each other; control.h carries it. All of it is low-rate.
//
// Coordinator -> agent: see tree/orders. Agent -> coordinator: hello first, then see tree/answers.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/range.h"
#include "io/result.h"
#include "io/words.h"
#include "net/handshake.h"
#include "tree/message_type.h"
#include "tree/metadata.h"
#include "tree/stage_times.h"

namespace rdcp::tree {

// One number for messages, frames and the handshake; two agents of different versions do not talk.
inline constexpr std::uint32_t kProtocolVersion = net::kProtocolVersion;

struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  std::uint32_t protocol = kProtocolVersion;
  io::Words program_version;
  io::Within<std::uint32_t, 1, 1u << 16> cpus = 1;
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

struct Progress {
  static constexpr MessageType kType = MessageType::progress;
  std::uint64_t bytes_done = 0, files_done = 0;
  std::uint64_t bytes_total = 0, files_total = 0;  // so far
  bool total_known = false;                        // the walk is over
  std::string path;                                // one of those under way
  auto fields() { return std::tie(bytes_done, files_done, bytes_total, files_total, total_known, path); }
};

// One thing that went wrong, already in words.
struct Problem {
  static constexpr MessageType kType = MessageType::problem;
  io::ErrorKind kind = io::ErrorKind::file;
  bool ends_run = false;  // the coordinator ends both agents; what else they meet is only what follows
  io::Words text;
  auto fields() { return std::tie(kind, ends_run, text); }
};

struct Loss {
  LossKind kind = LossKind::owner;
  std::uint64_t count = 0;
  std::string first_path;
  io::Words cause;
  auto fields() { return std::tie(kind, count, first_path, cause); }
};

struct Done {
  static constexpr MessageType kType = MessageType::done;
  bool complete = false;  // every work item was settled; problems may still have been reported
  std::uint64_t files = 0, directories = 0, others = 0, bytes = 0, resent_chunks = 0;
  std::uint64_t kept_bytes = 0, wire_bytes = 0;  // source: there already; sent, with frames
  std::vector<io::Words> streams;                // Stream::description(), by stream index
  std::vector<io::Words> notes;  // what became of the way the data took: "RDMA was given up: ..."
  io::Words ring;
  std::uint64_t payload_bytes = 0, packed_bytes = 0;  // of the streams: before and after compression
  StageTimes times;
  std::vector<Loss> losses;
  std::vector<io::Words> lost_streams;  // each with its cause, in words; none unless complete
  std::vector<io::Words> warnings;      // what went wrong and was mended, or not done as was asked
  auto fields() {
    return std::tuple_cat(std::tie(complete, files, directories, others, bytes, resent_chunks, kept_bytes),
                          std::tie(wire_bytes, streams, notes, ring, payload_bytes, packed_bytes),
                          times.fields(), std::tie(losses, lost_streams, warnings));
  }
};

struct Beat {
  static constexpr MessageType kType = MessageType::beat;
  auto fields() { return std::tie(); }
};

// Who says it is about to be stopped by its terminal: do not miss its beat until the next message.
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
  std::uint8_t status = 0;  // the coordinator's exit status, for an agent that has a user of its own
  auto fields() { return std::tie(status); }
};

}  // namespace rdcp::tree
