// The descriptors of a job's standard input and output.
#pragma once

#include <unistd.h>

#include <string>

namespace rdcp::tree {

// The caller owns the descriptors; they are never closed here. -1: the job has none.
struct StandardStreams {
  int input = STDIN_FILENO;
  int output = STDOUT_FILENO;
  // If true, an input that is a regular file is read by extents from its current position. Any other input is
  // read like a pipe.
  bool input_by_extents = false;
  // If true, they connect this agent to its coordinator. No name may lead a copy to them: what reads there
  // takes the words of the coordinator, and waits for ever.
  bool are_the_coordinators = false;
  std::string input_name = "standard input";  // for messages
  std::string output_name = "standard output";
};

}  // namespace rdcp::tree
