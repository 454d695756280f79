// Leads the control channel of one of a segment's agents through the channel of the segment itself.
#pragma once

#include <string>

#include "io/fd.h"
#include "io/result.h"
#include "tree/control.h"
#include "tree/segment_job.h"

namespace rdcp::tree {

// One end; there is one on the segment's host, where the agent is, and one where its coordinator is. One
// thread.
class Relay {
 public:
  // control outlives this.
  Relay(ControlChannel& control, RelayChannel channel) : control_(control), channel_(channel) {}

  // The end of a socket pair that the agent, or its coordinator, speaks at.
  io::Result<io::Fd> open();
  // To be polled for reading; -1: nothing more will come from here.
  int fd() const { return reading_ ? socket_.get() : -1; }
  // fd() is readable: sends on what is there.
  void forward();
  // What came from the other end of the relay.
  void deliver(const std::string& bytes);
  // Whoever speaks at the socket pair sees its end.
  void close() { socket_.reset(), reading_ = false; }

 private:
  ControlChannel& control_;
  const RelayChannel channel_;
  io::Fd socket_;
  bool reading_ = false;
};

}  // namespace rdcp::tree
