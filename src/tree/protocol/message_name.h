// Names of control messages for errors.
#pragma once

#include <string>

#include "tree/messages/message.h"

namespace rdcp::tree {

// Returns "source_job" for example, or "message 99" for a number without a name.
std::string name_of(MessageType type);

}  // namespace rdcp::tree
