// Asks another program on this host something, and reads what it prints.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

struct ProgramAnswer {
  std::string text;  // what it has printed on standard output
  int status = 0;    // its exit status
};

// Runs a program without input. Its standard error is `standard_error`, or ours if that is -1. Returns
// nothing if it does not end within `limit`, or prints more than bytes_max; it is ended then. Error
// (unreachable): it could not be started.
io::Result<std::optional<ProgramAnswer>> answer_of(const std::vector<std::string>& command,
                                                   int standard_error, std::chrono::milliseconds limit,
                                                   std::size_t bytes_max);

}  // namespace rdcp::cli
