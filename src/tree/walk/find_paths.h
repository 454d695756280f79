// Finds what patterns in the words of a user stand for on the source's host.
#pragma once

#include "io/result.h"
#include "tree/messages/find_paths.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// Expands each word as glob(7) says: '*', '?' and '[' in it stand for characters of existing names. A word
// that is the name of something is left as it is, whatever is in it. Reports words that stand for nothing.
// Errors (usage): they stand for more paths than a source can have.
io::Result<PathsFound> find_paths(const FindPaths& asked, Reporter& reporter);

}  // namespace rdcp::tree
