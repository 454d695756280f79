// Text in words, as opposed to file names: the two are escaped in different ways.
#pragma once

#include <string>
#include <utility>

namespace rdcp::io {

// A sentence or a part of one. A peer's words are escaped (visible()) where they are decoded, so that above
// the codec no words can control a terminal, and they are printed as they are. Names stay raw bytes and are
// escaped when they are printed (printable()).
struct Words : std::string {
  using std::string::string;
  Words(std::string text) : std::string(std::move(text)) {}
};

}  // namespace rdcp::io
