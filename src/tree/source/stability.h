// Whether a file stayed as it was while it was read, and what its copy is stamped with where it did not.
#pragma once

#include <sys/stat.h>

#include <string_view>

#include "io/result.h"
#include "tree/messages/sync_settings.h"

namespace rdcp::tree {

// How often a file that changes while it is read is read before it is copied as it was caught.
inline constexpr unsigned kReadTries = 3;

// Nothing was written between the two looks: ctime moves with every write, mtime may be set back. What is
// written through a mapping that has been written to just before is seen by neither.
bool unchanged(const struct stat& before, const struct stat& after);

// Waits until a write would get another ctime than the one in `before`, at most a few milliseconds: the
// kernel's clock for these moves by ticks, and before Linux 6.13 two writes within one look like one. Called
// before what is told by `before` is read.
void wait_for_next_tick(const struct stat& before);

// The mtime for what was read of a file that was `found` when it was first looked at, and is `now` when it
// has been read: that which it had then, or an earlier one where that could be taken for the file's. Never a
// later one than the file's, which --update would keep.
timespec torn_mtime(const struct stat& found, const struct stat& now, const SyncSettings& sync);

// For the user, of a file that did not stay as it was. again: it was read kReadTries times.
io::Error changed_error(std::string_view subject, bool again);

}  // namespace rdcp::tree
