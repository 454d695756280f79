// Plain writes and reads on pipes, terminals, sockets and other descriptors that were given to us open.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

namespace rdcp::io {

// Says how to wait while a descriptor accepts nothing.
struct WriteWait {
  std::function<void()> before = {};   // called once, before the first wait; may be empty
  std::function<bool()> give_up = {};  // called every 100 ms; if empty, never give up
  // How long the descriptor may accept nothing at a time; if empty, for ever.
  std::optional<std::chrono::milliseconds> limit = {};
};

// Writes all bytes. If somebody who shares the open file description has made it non-blocking, as ssh does
// with a standard error that is also our standard output, a full pipe is waited for, as write(2) itself would
// do otherwise. Returns 0 or an errno value: ECANCELED if give_up() returned true, ETIMEDOUT if the limit was
// reached. After an error nobody knows how many of the bytes were written.
int write_all(int fd, std::string_view bytes, const WriteWait& wait = {});

// Reads as read(2) does, but also waits if a non-blocking descriptor has nothing to be read yet.
long read_some(int fd, char* into, std::size_t bytes);

}  // namespace rdcp::io
