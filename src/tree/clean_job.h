// The messages by which a coordinator has an agent find, and remove, what runs that were cut short have left.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tree/message.h"
#include "tree/own_names.h"

namespace rdcp::tree {

struct Leftover {
  OwnName kind = OwnName::none;
  std::string path;        // beneath the directory that was asked for
  std::string final_path;  // what it would have become; empty: not known
  std::uint64_t bytes = 0;
  std::uint64_t age_seconds = 0;
  bool in_use = false;    // by a run that is going on: it stays
  bool unlocked = false;  // its filesystem has no locks: whether a run is at it cannot be told
  auto fields() { return std::tie(kind, path, final_path, bytes, age_seconds, in_use, unlocked); }
};

// To an agent: find them, and remove them if asked to.
struct CleanJob {
  static constexpr MessageType kType = MessageType::clean_job;
  std::string path;
  bool remove = false;
  auto fields() { return std::tie(path, remove); }
};

// From it, several times; with nothing in it as a sign of life.
struct Leftovers {
  static constexpr MessageType kType = MessageType::leftovers;
  std::vector<Leftover> found;
  bool last = false;
  auto fields() { return std::tie(found, last); }
};

}  // namespace rdcp::tree
