// Makes descriptors over which threads and agents talk to each other. Each function returns an error, because
// a process may run out of descriptors (ulimit -n), and a poll on -1 would wait forever.
#pragma once

#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::io {

struct FdPair {
  Fd first;
  Fd second;
};

// All these descriptors are closed on exec.
Result<Fd> duplicate(int fd, std::string_view name);
Result<FdPair> make_pipe();  // first is the read end, second the write end
Result<FdPair> make_socket_pair();

// A signal from one thread to another, which can wait for it with poll(2).
class Event {
 public:
  static Result<Event> create();
  // Returns -1 if the Event is empty.
  int fd() const { return fd_.get(); }
  // Any thread may call this.
  void signal() const;
  void drain() const;

 private:
  Fd fd_;
};

}  // namespace rdcp::io
