// The messages by which a pipeline's coordinator runs one segment, which is a command or a file, on one host.
// The host has two agents, each with a coordinator of its own: one fills the segment's input, the other one
// sends its output on. Their control channels travel within the segment's.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "tree/messages/message.h"

namespace rdcp::tree {

enum class SegmentKind : std::uint8_t { command, read_file, write_file, append_file };
constexpr SegmentKind last_of(SegmentKind) {
  return SegmentKind::append_file;
}

struct SegmentJob {
  static constexpr MessageType kType = MessageType::segment_job;
  SegmentKind kind = SegmentKind::command;
  std::string text;         // for the user's shell: a command, or the word that names a file
  bool has_input = false;   // false: its input is empty
  bool has_output = false;  // false: what it writes is discarded
  auto fields() { return std::tie(kind, text, has_input, has_output); }
};

struct SegmentEnd {
  static constexpr MessageType kType = MessageType::segment_end;
  std::uint8_t status = 0;  // as in a shell: 127 if not found, 128 + N if ended by signal N
  bool by_itself = true;    // false: it was ended because something else had failed
  io::Words problem;        // what went wrong, in words, if no command could print it
  auto fields() { return std::tie(status, by_itself, problem); }
};

enum class RelayChannel : std::uint8_t { input, output };  // which agent the bytes are for or from
constexpr RelayChannel last_of(RelayChannel) {
  return RelayChannel::output;
}

struct RelayedBytes {
  static constexpr MessageType kType = MessageType::relayed_bytes;
  RelayChannel channel = RelayChannel::input;
  std::string bytes;  // empty: the sending side sends no more
  auto fields() { return std::tie(channel, bytes); }
};

}  // namespace rdcp::tree
