// What runs that were cut short have left in a tree, and its removal.
#pragma once

#include <functional>

#include "tree/clean_job.h"
#include "tree/reporter.h"

namespace rdcp::tree {

// tell gets what was found before it is removed; false: nobody hears it any more. Nothing is followed, and
// only regular files of this user are removed, and directories of this user that were replaced by something
// else and have a temporary name, with all that is in them. Beside the directory, markers of runs that were
// to make it are looked at, too (run_marker.h), and told as "../NAME". What cannot be read or removed is a
// problem.
void clean(const CleanJob& job, Reporter& reporter, const std::function<bool(const Leftovers&)>& tell);

}  // namespace rdcp::tree
