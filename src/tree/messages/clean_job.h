// The messages by which a coordinator has an agent find and remove what interrupted runs have left.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tree/fs/own_names.h"
#include "tree/messages/message.h"

namespace rdcp::tree {

struct Leftover {
  OwnName kind = OwnName::none;
  std::string path;        // relative to CleanJob::path
  std::string final_path;  // the name it would have got; empty if unknown
  std::uint64_t bytes = 0;
  std::uint64_t age_seconds = 0;
  bool in_use = false;    // a run is using it, so it stays
  bool unlocked = false;  // its filesystem has no locks, so nobody knows if a run is using it
  auto fields() { return std::tie(kind, path, final_path, bytes, age_seconds, in_use, unlocked); }
};

// Tells an agent to find leftovers, and to remove them if asked to.
struct CleanJob {
  static constexpr MessageType kType = MessageType::clean_job;
  std::string path;
  bool remove = false;
  auto fields() { return std::tie(path, remove); }
};

// Sent by the agent, several times. An empty one is a sign of life.
struct Leftovers {
  static constexpr MessageType kType = MessageType::leftovers;
  std::vector<Leftover> found;
  bool last = false;
  auto fields() { return std::tie(found, last); }
};

}  // namespace rdcp::tree
