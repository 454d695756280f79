// Watches for a port that goes down and for a device that fails.
//
// librdmacm opens each device once per process, so its asynchronous events come from one queue for all
// connections. Events about a port or a device, however, are sent to everybody who has the device open
// (ibv_get_async_event(3)), so each watch opens it once more and shares nothing. Events about a queue pair
// stay unread; its completions show the same.
#pragma once

#include <optional>

#include "io/ring.h"
#include "net/rdma/verbs.h"

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

inline DeviceWatch::DeviceWatch(ibv_context& device, unsigned port)
    : port_(port), context_(ibv_open_device(device.device)) {
  if (context_ && !set_up_descriptor(context_->async_fd)) context_.reset();
}

inline void DeviceWatch::take_events() {
  ibv_async_event event{};
  while (context_ && ibv_get_async_event(context_.get(), &event) == 0) {
    take(event);
    ibv_ack_async_event(&event);
  }
}

inline void DeviceWatch::take(const ibv_async_event& event) {
  const char* device = ibv_get_device_name(context_->device);
  if (event.event_type == IBV_EVENT_DEVICE_FATAL) {
    failure_ = async_error(event.event_type, device, port_);
    return;
  }
  if (static_cast<unsigned>(event.element.port_num) != port_) return;
  if (event.event_type == IBV_EVENT_PORT_ERR) {
    port_down_ = async_error(event.event_type, device, port_);
    down_since_ = io::Clock::now();
  } else if (event.event_type == IBV_EVENT_PORT_ACTIVE) {
    port_down_.reset();
  }
}

}  // namespace rdcp::net
