// One of the places that a check compares, and what has come of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "cli/check/differences.h"
#include "cli/places/location.h"

namespace rdcp::cli {

// How much was compared.
struct CheckCounts {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

struct CheckedHost {
  Location place;
  Differences differences;
  CheckCounts counts = {};
  int status = 0;          // exit status of its part
  std::string cause = {};  // why it was not compared to the end
  bool is_late = false;    // it has said no hello while others have; it was not compared

  void raise(int to) { status = std::max(status, to); }
};

}  // namespace rdcp::cli
