// What a job's standard input and output are.
#pragma once

#include <unistd.h>

#include <string>

namespace rdcp::tree {

// The descriptors are the caller's and are never closed here.
struct StandardStreams {
  int input = STDIN_FILENO;
  int output = STDOUT_FILENO;
  // A regular file as input is read by extents, from where it stands; else as a pipe is.
  bool input_by_extents = false;
  std::string input_name = "standard input";  // for messages
  std::string output_name = "standard output";
};

}  // namespace rdcp::tree
