// Where the KEY of a pipe comes from.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"
#include "io/secret.h"

namespace rdcp::cli {

// One of these.
struct KeySource {
  io::SecretText word;  // as given on the command line
  std::string file;     // its first line
  int fd = -1;          // one line of it
};

// A file is opened as known_file.h has it. Errors: it cannot be read, or is none of those (file), or is
// empty, or is a file that others may read (usage).
io::Result<io::SecretText> read_key(KeySource source);

// Overwrites each word of the command line that is the key, so that ps(1) shows it no longer.
void wipe_key(int argc, char** argv, std::string_view key);

}  // namespace rdcp::cli
