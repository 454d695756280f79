// Hears of a port that goes down and of a device that fails.
//
// librdmacm opens each device once a process, so its asynchronous events come from one queue for all
// connections. Events about a port or a device, however, are told to everybody who has the device open
// (ibv_get_async_event(3)); so each watch opens it once more and shares nothing. Events about a queue pair
// stay unread; what they say also shows in its completions.
#pragma once

#include <optional>

#include "io/ring.h"
#include "net/rdma/verbs.h"

namespace rdcp::net {

class DeviceWatch {
 public:
  // Where the device cannot be opened again, nothing is ever heard.
  explicit DeviceWatch(rdma_cm_id& id);

  // -1: none.
  int fd() const { return context_ ? context_->async_fd : -1; }
  void take_events();
  const std::optional<io::Error>& failure() const { return failure_; }
  // While the port is down.
  const std::optional<io::Error>& port_down() const { return port_down_; }
  io::Clock::time_point down_since() const { return down_since_; }

 private:
  void take(const ibv_async_event& event);

  unsigned port_;
  DeviceContext context_;
  std::optional<io::Error> failure_;
  std::optional<io::Error> port_down_;
  io::Clock::time_point down_since_;
};

}  // namespace rdcp::net
