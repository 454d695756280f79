// Records the system calls that some code makes on files, as strace(1) does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdcp::tree {

// A system call on files beneath a directory that has returned.
struct TracedCall {
  std::string name;  // "openat2"
  // What it names, or what its descriptors are of, beneath the directory; "dst/#123 (deleted)" has no name.
  std::vector<std::string> paths;
  int code = 0;  // its errno value
  // "linkat dst/# dst/a", and "ENOENT" behind it if it failed so. "#" is any file without a name, and "*"
  // takes the place of what is random in names of rdcp's own.
  std::string text() const;
};

// Runs the action in a process of its own, which it may fill with threads, and returns its calls on what lies
// beneath `directory`, in the order in which they returned. Calls of all threads are seen, whichever library
// makes them, but no operations of io_uring, which are no calls. Returns nothing if nobody may trace here
// (ptrace(2)). Failures of the test within the action count as the caller's.
std::optional<std::vector<TracedCall>> trace_calls(const std::string& directory,
                                                   const std::function<void()>& action);

}  // namespace rdcp::tree
