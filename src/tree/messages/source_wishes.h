// The message that says what a user wants of the source beyond the job. Since version 11.
#pragma once

#include <cstdint>
#include <tuple>

#include "tree/messages/message_type.h"

namespace rdcp::tree {

// Comes before the job, and only if the user wants any of it: an agent of an older version does not know it.
struct SourceWishes {
  static constexpr MessageType kType = MessageType::source_wishes;
  static constexpr std::uint32_t kFirstProtocol = 11;
  bool follow_links = false;  // --copy-links: copy what symbolic links lead to
  bool remove_files = false;  // --remove-source-files: remove what is no directory, once it is copied
  auto fields() { return std::tie(follow_links, remove_files); }

  bool any() const { return follow_links || remove_files; }
  // Returns the option of rdcp that asks for one of them, for messages.
  const char* option() const { return follow_links ? "--copy-links" : "--remove-source-files"; }
};

}  // namespace rdcp::tree
