// Where the KEY of a pipe comes from.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"

namespace rdcp::cli {

// One of these.
struct KeySource {
  std::string word;  // as given on the command line
  std::string file;  // its first line
  int fd = -1;       // one line of it
};

// Errors: it cannot be read (file), or is empty, or is a file that others may read (usage).
io::Result<std::string> read_key(const KeySource& source);

// Overwrites each word of the command line that is the key, so that ps(1) shows it no longer.
void wipe_key(int argc, char** argv, std::string_view key);

}  // namespace rdcp::cli
