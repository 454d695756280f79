// Text in words, as opposed to names of files: which of the two something is decides how it is shown.
#pragma once

#include <string>
#include <utility>

namespace rdcp::io {

// A sentence or a part of one. What a peer says in words is escaped (visible()) where it is decoded, so that
// above the codec there is none that could drive a terminal; it is printed as it is. Names stay raw bytes and
// are escaped when they are printed (printable()).
struct Words : std::string {
  using std::string::string;
  Words(std::string text) : std::string(std::move(text)) {}
};

}  // namespace rdcp::io
