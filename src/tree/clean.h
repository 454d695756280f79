// What runs that were cut short have left in a tree, and its removal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tree/message.h"
#include "tree/own_names.h"
#include "tree/reporter.h"

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

// tell gets what was found before it is removed; false: nobody hears it any more. Nothing is followed, and
// only regular files of this user are removed, and directories of this user that were replaced by something
// else and have a temporary name, with all that is in them. Beside the directory, markers of runs that were
// to make it are looked at, too (run_marker.h), and told as "../NAME". What cannot be read or removed is a
// problem.
void clean(const CleanJob& job, Reporter& reporter, const std::function<bool(const Leftovers&)>& tell);

}  // namespace rdcp::tree
