// Paths for tests, which trust their own words.
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "tree/meta/entry_path.h"

namespace rdcp::tree {

inline EntryPath own(std::string path) {
  return EntryPath::of_own(std::move(path));
}

// For messages of GoogleTest.
inline void PrintTo(const EntryPath& path, std::ostream* out) {
  *out << '"' << path.text() << '"';
}

}  // namespace rdcp::tree
