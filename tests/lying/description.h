// Tells what a disk holds.
#pragma once

#include <string>

#include "tests/lying/disk.h"

namespace rdcp::lying {

// JSON in one line: an object with a member for each path beneath the root, [TYPE, MODE, MTIME_NS, SIZE,
// LINKS, DIGEST]. TYPE is file, directory, symlink or special; DIGEST is XXH3-128 of a file's content, or a
// symlink's target.
std::string description(const Disk& disk);

}  // namespace rdcp::lying
