// Control messages by name, for errors.
#pragma once

#include <string>

#include "tree/message.h"

namespace rdcp::tree {

// "source_job"; "message 99" for a number that none has.
std::string name_of(MessageType type);

}  // namespace rdcp::tree
