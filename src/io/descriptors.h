// Descriptors that are made for threads and agents to talk to each other. Making them fails where a process
// may have few (ulimit -n), and a number that is -1 would be waited for in vain.
#pragma once

#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::io {

struct FdPair {
  Fd first;
  Fd second;
};

// All close on exec.
Result<Fd> duplicate(int fd, std::string_view name);
Result<FdPair> make_pipe();  // first: read, second: write
Result<FdPair> make_socket_pair();

// What one thread tells another, which may wait for it by poll(2).
class Event {
 public:
  static Result<Event> create();
  // -1 for an empty one.
  int fd() const { return fd_.get(); }
  // Any thread.
  void signal() const;
  void drain() const;

 private:
  Fd fd_;
};

}  // namespace rdcp::io
