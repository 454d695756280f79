// What a user wants of the target beyond the job. Since version 11.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "tree/messages/message_type.h"

namespace rdcp::tree {

// Comes before the job, and only if the user wants any of it: an agent of an older version does not know it.
struct TargetWishes {
  static constexpr MessageType kType = MessageType::target_wishes;
  static constexpr std::uint32_t kFirstProtocol = 11;
  std::string make_directory;  // --mkpath: make this directory with all above it; empty: none is made
  auto fields() { return std::tie(make_directory); }

  bool any() const { return *option() != '\0'; }
  // Returns the option of rdcp that asks for one of them, for messages, or nothing.
  const char* option() const { return make_directory.empty() ? "" : "--mkpath"; }
};

}  // namespace rdcp::tree
