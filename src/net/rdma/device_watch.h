// Watches for a port that goes down and for a device that fails.
//
// librdmacm opens each device once per process, so its asynchronous events come from one queue for all
// connections. Events about a port or a device, however, are sent to everybody who has the device open
// (ibv_get_async_event(3)), so each watch opens it once more and shares nothing. Events about a queue pair
// stay unread; its completions show the same.
#pragma once

#include <optional>

#include "io/ring.h"
#include "net/rails/verbs.h"

namespace rdcp::net {

class DeviceWatch {
 public:
  // If the device cannot be opened again, no event is ever seen.
  DeviceWatch(ibv_context& device, unsigned port);

  // Returns -1 if there is none.
  int fd() const { return context_ ? context_->async_fd : -1; }
  void take_events();
  const std::optional<io::Error>& failure() const { return failure_; }
  // Set while the port is down.
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
