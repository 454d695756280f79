// Lines of digests as tests need them.
#pragma once

#include <span>
#include <string>

#include "io/digest.h"
#include "tree/messages/sum_line.h"

namespace rdcp::tree {

// The line of a regular file, all of the same time.
inline SumLine file_line(const std::string& path, const std::string& content) {
  SumLine line;
  line.path = path;
  line.size = content.size();
  line.mtime = 1'700'000'000;
  line.mtime_ns = 5;
  line.digest = io::digest_of(std::as_bytes(std::span(content)));
  return line;
}

}  // namespace rdcp::tree
