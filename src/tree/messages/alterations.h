// The message that says how the copy is to differ from its source.
#pragma once

#include "tree/messages/message.h"
#include "tree/meta/alteration.h"

namespace rdcp::tree {

// Comes before each job of the source, if the user has asked for any, and before each job of the target if it
// has to know a name. The agent speaks version 11 or later.
struct Alterations {
  static constexpr MessageType kType = MessageType::alterations;
  static constexpr std::uint32_t kFirstProtocol = 11;
  Alteration metadata;
  auto fields() { return metadata.fields(); }
};

}  // namespace rdcp::tree
