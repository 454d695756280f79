// The messages of a coordinator and its agents; control.h carries them. All of them are low-rate.
//
// tree/guards/orders decides what a coordinator may send. An agent sends hello first (hello.h);
// after that tree/guards/answers decides what it may send.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "io/range.h"
#include "io/result.h"
#include "io/words.h"
#include "tree/messages/message_type.h"
#include "tree/messages/stage_times.h"
#include "tree/meta/metadata.h"

namespace rdcp::tree {

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
  bool total_known = false;                        // the walk has ended
  std::string path;                                // a file that is being copied
  auto fields() { return std::tie(bytes_done, files_done, bytes_total, files_total, total_known, path); }
};

// An error, already in words.
struct Problem {
  static constexpr MessageType kType = MessageType::problem;
  io::ErrorKind kind = io::ErrorKind::file;
  bool ends_run = false;  // the coordinator ends both agents; later problems only follow from this one
  io::Words text;
  std::string path = {};   // which it is about; this and `code` travel in an ExplainedProblem only
  std::uint32_t code = 0;  // errno; 0: none
  auto fields() { return std::tie(kind, ends_run, text); }
};

// Has the agent send an ExplainedProblem in the place of each Problem, from now on. Since version 11.
struct ExplainProblems {
  static constexpr MessageType kType = MessageType::explain_problems;
  static constexpr std::uint32_t kFirstProtocol = 11;
  auto fields() { return std::tie(); }
};

struct ExplainedProblem {
  static constexpr MessageType kType = MessageType::explained_problem;
  Problem problem;
  auto fields() { return std::tuple_cat(problem.fields(), std::tie(problem.path, problem.code)); }
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
  bool complete = false;  // every work item was settled, perhaps with problems
  std::uint64_t files = 0, directories = 0, others = 0, bytes = 0, resent_chunks = 0;
  std::uint64_t kept_bytes = 0, wire_bytes = 0;  // source: what the target had; what was sent, with frames
  std::vector<io::Words> streams;                // Stream::description(), by stream index
  bool encrypted = false;                        // source: all of these were sealed
  std::vector<io::Words> notes;                  // what changed about the transport: "RDMA was given up: ..."
  io::Words ring;
  std::uint64_t payload_bytes = 0, packed_bytes = 0;  // of all streams: before and after compression
  StageTimes times;
  std::vector<Loss> losses;
  std::vector<io::Words> lost_streams;  // each with its cause, in words; only if complete
  std::vector<io::Words> warnings;      // what went wrong and was repaired, or was not done as asked
  auto fields() {
    return std::tuple_cat(std::tie(complete, files, directories, others, bytes, resent_chunks, kept_bytes),
                          std::tie(wire_bytes, streams, encrypted, notes, ring, payload_bytes, packed_bytes),
                          times.fields(), std::tie(losses, lost_streams, warnings));
  }
};

struct Beat {
  static constexpr MessageType kType = MessageType::beat;
  auto fields() { return std::tie(); }
};

// The sender is about to be stopped by its terminal. Its beats may be missing until its next message.
struct Suspend {
  static constexpr MessageType kType = MessageType::suspend;
  auto fields() { return std::tie(); }
};

struct Abort {
  static constexpr MessageType kType = MessageType::abort;
  auto fields() { return std::tie(); }
};

// Lets the agent exit once it has told that its job is done, without Finish. Over a long path that saves a
// round trip. Before the job begins; since version 13.
struct EndWhenDone {
  static constexpr MessageType kType = MessageType::end_when_done;
  static constexpr std::uint32_t kFirstProtocol = 13;
  auto fields() { return std::tie(); }
};

// Tells the agent to exit: everything has been said.
struct Finish {
  static constexpr MessageType kType = MessageType::finish;
  std::uint8_t status = 0;  // the coordinator's exit status, for an agent that has a user of its own
  auto fields() { return std::tie(status); }
};

}  // namespace rdcp::tree
