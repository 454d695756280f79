// Reads the KEY of a pipe.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"
#include "io/secret.h"

namespace rdcp::cli {

// Where the key comes from; one of these is set.
struct KeySource {
  io::SecretText word;  // the key itself, from the command line
  std::string file;     // the key is the first line of this file
  int fd = -1;          // the key is one line from this descriptor
};

// Reads the key; a file is opened as known_file.h says. Errors: the file or descriptor cannot be read, or the
// file is not a regular one (file); the key is empty or too long, or comes from a file that others may read
// or write (usage).
io::Result<io::SecretText> read_key(KeySource source);

// Overwrites each word of the command line that is the key, so that ps(1) no longer shows it.
void wipe_key(int argc, char** argv, std::string_view key);

}  // namespace rdcp::cli
