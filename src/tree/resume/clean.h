// Finds and removes what interrupted runs have left in a tree.
#pragma once

#include <functional>

#include "tree/messages/clean_job.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// tell gets what was found before it is removed; it returns false if nobody listens any more. No symlink is
// followed. Only regular files of this user are removed, and directories of this user that have a temporary
// name because something else has replaced them, with all that is in them. Markers of runs that were to make
// the directory lie beside it (run_marker.h); they are found, too, and reported as "../NAME". What cannot be
// read or removed is a problem.
void clean(const CleanJob& job, Reporter& reporter, const std::function<bool(const Leftovers&)>& tell);

}  // namespace rdcp::tree
