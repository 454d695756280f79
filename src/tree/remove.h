// Removes whole trees, beneath a held directory.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"

namespace rdcp::tree {

// Removes `name` in directory, with all that is beneath it where it is a directory. Follows no link, and stops
// at a mount point (an Error: EBUSY). Directories of ours that do not let us in are given that right. What is
// gone already is none. subject: of `name`, for messages. A descriptor is held for each level.
io::Result<void> remove_tree(int directory, const std::string& name, std::string_view subject);

}  // namespace rdcp::tree
