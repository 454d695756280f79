// The messages by which a pipeline's coordinator runs one segment, a command or a file, on one host. The
// segment's host has two agents, each with a coordinator of its own: one fills the segment's input, the other
// sends its output on. Their control channels travel within the segment's.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "tree/message.h"

namespace rdcp::tree {

enum class SegmentKind : std::uint8_t { command, read_file, write_file, append_file };
constexpr SegmentKind last_of(SegmentKind) {
  return SegmentKind::append_file;
}

struct SegmentJob {
  static constexpr MessageType kType = MessageType::segment_job;
  SegmentKind kind = SegmentKind::command;
  std::string text;         // for the user's shell: a command, or the word that stands for a file
  bool has_input = false;   // else it starts from nothing
  bool has_output = false;  // else what it writes is thrown away
  auto fields() { return std::tie(kind, text, has_input, has_output); }
};

struct SegmentEnd {
  static constexpr MessageType kType = MessageType::segment_end;
  std::uint8_t status = 0;  // as a shell would have it: 127 not found, 128 + N ended by signal N
  bool by_itself = true;    // false: it was ended, since something else had gone wrong
  io::Words problem;        // in words, where no command could say it
  auto fields() { return std::tie(status, by_itself, problem); }
};

enum class RelayChannel : std::uint8_t { input, output };  // the agent that a relay leads to
constexpr RelayChannel last_of(RelayChannel) {
  return RelayChannel::output;
}

struct RelayedBytes {
  static constexpr MessageType kType = MessageType::relayed_bytes;
  RelayChannel channel = RelayChannel::input;
  std::string bytes;  // empty: the sending side says no more
  auto fields() { return std::tie(channel, bytes); }
};

}  // namespace rdcp::tree
