#include "net/rdma/device_watch.h"

namespace rdcp::net {

DeviceWatch::DeviceWatch(ibv_context& device, unsigned port)
    : port_(port), context_(ibv_open_device(device.device)) {
  if (context_ && !set_up_descriptor(context_->async_fd)) context_.reset();
}

void DeviceWatch::take_events() {
  ibv_async_event event{};
  while (context_ && ibv_get_async_event(context_.get(), &event) == 0) {
    take(event);
    ibv_ack_async_event(&event);
  }
}

void DeviceWatch::take(const ibv_async_event& event) {
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
