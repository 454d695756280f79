// Tells whether a file changed while it was read, and which mtime its copy gets if it did.
#pragma once

#include <sys/stat.h>

#include <string_view>

#include "io/result.h"
#include "tree/messages/sync_settings.h"

namespace rdcp::tree {

// A file that keeps changing is read so many times; the last reading is copied as it is.
inline constexpr unsigned kReadTries = 3;

// Returns true if nothing was written between the two looks: ctime moves with every write, and mtime may be
// set back. Neither shows a write through a mapping that has been written to just before.
bool unchanged(const struct stat& before, const struct stat& after);

// Waits until a write would get another ctime than the one in `before`, at most a few milliseconds: the
// kernel's clock for timestamps moves by ticks, and before Linux 6.13 two writes within one tick look like
// one. Called before the content is read that `before` is compared for.
void wait_for_next_tick(const struct stat& before);

// Returns the mtime for the copy of a file that changed from `found` to `now` while it was read: that of
// `found`, or an earlier one where that could be taken for the file's present mtime. It is never later than
// the file's, because --update would then keep the copy.
timespec torn_mtime(const struct stat& found, const struct stat& now, const SyncSettings& sync);

// Tells the user that a file changed. With `again` it was read kReadTries times.
io::Error changed_error(std::string_view subject, bool again);

}  // namespace rdcp::tree
