// Plain writes and reads on pipes, terminals, sockets and other descriptors that were given to us open.
#pragma once

#include <functional>
#include <string_view>

namespace rdcp::io {

// Says how to wait while a descriptor accepts nothing.
struct WriteWait {
  std::function<void()> before;   // called once, before the first wait; may be empty
  std::function<bool()> give_up;  // called every 100 ms; if empty, never give up
};

// Writes all bytes. If somebody who shares the open file description has made it non-blocking, as ssh does
// with a standard error that is also our standard output, a full pipe is waited for, as write(2) itself would
// do otherwise. Returns 0 or an errno value, ECANCELED if give_up() returned true.
int write_all(int fd, std::string_view bytes, const WriteWait& wait = {});

// Reads as read(2) does, but also waits if a non-blocking descriptor has nothing to be read yet.
long read_some(int fd, char* into, std::size_t bytes);

}  // namespace rdcp::io
