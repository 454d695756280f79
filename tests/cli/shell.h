// Runs a command line through sh, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace rdcp::cli {

struct ShellResult {
  std::string output;
  int wait_status = -1;
};

// popen(3) is `sh -c COMMAND`.
inline ShellResult run_shell(const std::string& command) {
  ShellResult result;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "popen failed";
    return result;
  }
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, got);
  result.wait_status = ::pclose(pipe);
  return result;
}

}  // namespace rdcp::cli
