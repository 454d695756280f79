// Carries the control channel of one of a segment's agents through the channel of the segment itself.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "io/fd.h"
#include "io/result.h"
#include "tree/messages/segment_job.h"

namespace rdcp::tree {

// One end of a relay. There is one on the segment's host, where the agent is, and one where the agent's
// coordinator is. Not thread-safe.
class Relay {
 public:
  // send is called with what is to go over the segment's control channel.
  using Send = std::function<void(const RelayedBytes&)>;
  Relay(Send send, RelayChannel channel) : send_(std::move(send)), channel_(channel) {}

  // Makes a socket pair, and returns the end that is for the agent or for its coordinator.
  io::Result<io::Fd> open();
  // The descriptor to be polled for reading, or -1 if nothing more will come from here.
  int fd() const { return reading_ ? socket_.get() : -1; }
  // Reads from fd(), which must be readable, and sends that to the relay's other end.
  void forward();
  // Writes to the socket pair what came from the relay's other end; no bytes mean that it has ended.
  void deliver(const std::string& bytes);
  // Closes our end of the socket pair; whoever has the other end sees that.
  void close() { socket_.reset(), reading_ = false; }

 private:
  const Send send_;
  const RelayChannel channel_;
  io::Fd socket_;
  bool reading_ = false;
};

}  // namespace rdcp::tree
