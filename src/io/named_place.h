// Finds what a path that the user gave stands for, so that nobody else decides which file that is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::io {

// The directory of what a path names, and its last component, by which it is to be opened.
struct NamedPlace {
  Fd directory;
  std::string name;
};

// Resolves a path that the user gave, also through symlinks. As root it follows none that belongs to another
// user, who could swap it and so choose what we read or write. With follow_last it also follows the last
// component.
Result<NamedPlace> find_named(const std::string& path, bool follow_last);

// Returns the number N of /dev/fd/N and its like, also if it is written with "//" or "/./", or nothing if the
// path is another one.
std::optional<int> own_descriptor(std::string_view given);

}  // namespace rdcp::io
