// What stands beneath a directory, listed without following anything.
#pragma once

#include <functional>
#include <string>

#include "io/result.h"

namespace rdcp::tree {

// Calls use(path below the directory, is it a directory) for all that `name` in `parent` holds, contents before
// the directory itself. Nothing on another filesystem is entered. Depth and errors: a directory that cannot be
// read is an Error.
io::Result<void> for_each_beneath(int parent, const std::string& name,
                                  const std::function<void(const std::string&, bool)>& use);

}  // namespace rdcp::tree
