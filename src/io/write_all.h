// Plain writes to pipes, terminals, sockets and what else was given to us open.
#pragma once

#include <functional>
#include <string_view>

namespace rdcp::io {

// What to do while a descriptor takes nothing.
struct WriteWait {
  std::function<void()> before;   // once, before the first wait; may be empty
  std::function<bool()> give_up;  // asked every 100 ms; may be empty: never
};

// All of it, also where somebody who shares the open file description has made it non-blocking, as ssh does
// with a standard error that is also our standard output: then a full pipe is waited for, as it would be by
// write(2) otherwise. Returns 0 or an errno value, ECANCELED where it was given up.
int write_all(int fd, std::string_view bytes, const WriteWait& wait = {});

// The same for reading: waits where there is nothing to be read yet, and else is read(2).
long read_some(int fd, char* into, std::size_t bytes);

}  // namespace rdcp::io
