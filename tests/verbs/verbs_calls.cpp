// The functions of libibverbs that rdcp calls, in place of the library's own. What needs no device, such as
// ibv_wc_status_str(), stays the library's.
#include <endian.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/verbs/fabric.h"

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

namespace rdcp::made_up {

using Held = std::unique_lock<std::mutex>;

namespace {

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes, std::size_t bytes) {
  const Held held = fabric().lock();
  const std::vector<Port>& ports = fabric().owner_of(*context).description.ports;
  std::memset(attributes, 0, bytes);
  if (number == 0 || number > ports.size()) return EINVAL;
  const Port& port = ports[number - 1u];
  ibv_port_attr filled{};
  filled.state = port.state;
  filled.max_mtu = port.max_mtu;
  filled.active_mtu = port.active_mtu;
  filled.gid_tbl_len = 16;
  filled.pkey_tbl_len = static_cast<std::uint16_t>(port.partitions.size());
  filled.max_msg_sz = 1 << 30;
  filled.link_layer = port.link_layer;
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) {
    filled.lid = fabric().lid_of(fabric().owner_of(*context), number);
  }
  filled.phys_state = port.state == IBV_PORT_DOWN ? 3 : 5;  // Disabled, LinkUp
  filled.active_width = static_cast<std::uint8_t>(port.width);
  filled.active_speed = static_cast<std::uint8_t>(std::min(static_cast<unsigned>(port.speed), 128u));
  std::memcpy(attributes, &filled, std::min(bytes, sizeof(filled)));
  return 0;
}

int post_send_to(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** refused) {
  const Held held = fabric().lock();
  return fabric().post_send(static_cast<QueuePairObject&>(*pair), request, refused);
}

int post_receive_to(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** refused) {
  const Held held = fabric().lock();
  return fabric().post_receive(static_cast<QueuePairObject&>(*pair), request, refused);
}

int poll_queue(ibv_cq* queue, int most, ibv_wc* done) {
  const Held held = fabric().lock();
  return fabric().poll(static_cast<CompletionQueueObject&>(*queue), most, done);
}

int arm_queue(ibv_cq* queue, int) {
  const Held held = fabric().lock();
  return fabric().arm(static_cast<CompletionQueueObject&>(*queue));
}

// Waits as a read of the descriptor would: not at all if it is non-blocking.
template <class Queue>
bool wait_for(const Queue& events, const Bell& bell, Held& held) {
  while (events.empty()) {
    held.unlock();
    if ((::fcntl(bell.fd(), F_GETFL) & O_NONBLOCK) != 0) {
      errno = EAGAIN;
      return false;
    }
    pollfd wait{bell.fd(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    held.lock();
  }
  return true;
}

template <class Queue>
auto take(Queue& events, Bell& bell) {
  const auto event = events.front();
  events.pop_front();
  if (events.empty()) bell.still();
  return event;
}

}  // namespace

ibv_context* Fabric::open(ibv_device& device) {
  auto context = std::make_unique<ContextObject>();
  for (const auto& lists : {devices_, former_devices_}) {
    for (const auto& each : lists) {
      if (&each->device == &device) context->owner = each.get();
    }
  }
  context->verbs.sz = sizeof(verbs_context);
  context->verbs.query_port = query_port;
  ibv_context& made = context->verbs.context;
  made.device = &device;
  made.abi_compat = __VERBS_ABI_IS_EXTENDED;
  made.ops.poll_cq = poll_queue;
  made.ops.req_notify_cq = arm_queue;
  made.ops.post_send = post_send_to;
  made.ops.post_recv = post_receive_to;
  made.cmd_fd = -1;
  made.async_fd = context->bell.fd();
  made.num_comp_vectors = context->owner->description.completion_vectors;
  contexts_.push_back(std::move(context));
  return &made;
}

}  // namespace rdcp::made_up

using namespace rdcp::made_up;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  const Held held = fabric().lock();
  const auto& devices = fabric().devices();
  auto** list = new ibv_device*[devices.size() + 1];
  for (std::size_t i = 0; i < devices.size(); ++i) list[i] = &devices[i]->device;
  list[devices.size()] = nullptr;
  if (count != nullptr) *count = static_cast<int>(devices.size());
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  delete[] list;
}

ibv_context* ibv_open_device(ibv_device* device) {
  const Held held = fabric().lock();
  return fabric().open(*device);
}

int ibv_close_device(ibv_context* context) {
  const Held held = fabric().lock();
  fabric().close(*context);
  return 0;
}

int ibv_fork_init() {
  const Held held = fabric().lock();
  fabric().set_fork_safe();
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  const Held held = fabric().lock();
  *attributes = fabric().owner_of(*context).description.attributes;
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* attributes) {
  return query_port(context, number, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_pkey(ibv_context* context, std::uint8_t number, int index, __be16* key) {
  const Held held = fabric().lock();
  const std::vector<Port>& ports = fabric().owner_of(*context).description.ports;
  if (number == 0 || number > ports.size()) return EINVAL;
  const std::vector<std::uint16_t>& partitions = ports[number - 1u].partitions;
  if (index < 0 || static_cast<std::size_t>(index) >= partitions.size()) return EINVAL;
  *key = htobe16(partitions[static_cast<std::size_t>(index)]);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t,
                             std::size_t) {
  const Held held = fabric().lock();
  const std::vector<Port>& ports = fabric().owner_of(*context).description.ports;
  std::size_t count = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const bool infiniband = ports[i].link_layer == IBV_LINK_LAYER_INFINIBAND;
    const std::vector<ibv_gid> gids = gids_of(fabric().owner_of(*context).description, i);
    for (std::size_t index = 0; index < gids.size(); ++index) {
      if (count == most) return static_cast<ssize_t>(count);
      ibv_gid_entry& entry = entries[count++];
      entry = {};
      entry.gid = gids[index];
      entry.port_num = static_cast<std::uint32_t>(i + 1);
      entry.gid_index = static_cast<std::uint32_t>(index);
      entry.gid_type = infiniband ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
      if (index < ports[i].addresses.size()) {
        entry.ndev_ifindex = index_of_interface(ports[i].addresses[index].interface);
      }
    }
  }
  return static_cast<ssize_t>(count);
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return new ibv_pd{context, 0};
}

int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t bytes, std::uint64_t, unsigned access) {
  const Held held = fabric().lock();
  return fabric().add_region(*domain, address, bytes, access);
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) {
  return ibv_reg_mr_iova2(domain, address, bytes, 0, static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* region) {
  const Held held = fabric().lock();
  fabric().remove_region(*region);
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = new ChannelObject();
  channel->context = context;
  channel->fd = channel->bell.fd();
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  delete static_cast<ChannelObject*>(channel);
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* mark, ibv_comp_channel* channel, int vector) {
  const Held held = fabric().lock();
  const Device& device = fabric().owner_of(*context).description;
  if (entries < 1 || entries > device.attributes.max_cqe || vector >= device.completion_vectors) {
    errno = EINVAL;
    return nullptr;
  }
  auto* queue = new CompletionQueueObject();
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = mark;
  queue->cqe = entries;
  queue->vector = vector;
  return queue;
}

// The library waits here for ever for events that were taken and not acknowledged (ibv_get_cq_event(3)).
int ibv_destroy_cq(ibv_cq* queue) {
  const Held held = fabric().lock();
  auto* object = static_cast<CompletionQueueObject*>(queue);
  if (object->events_taken != object->events_acknowledged) {
    fabric().complain("a completion queue was destroyed with events that were not acknowledged");
  }
  if (queue->channel != nullptr) {
    auto& channel = static_cast<ChannelObject&>(*queue->channel);
    std::erase(channel.events, queue);
    if (channel.events.empty()) channel.bell.still();
  }
  delete object;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** mark) {
  Held held = fabric().lock();
  auto& object = static_cast<ChannelObject&>(*channel);
  if (!wait_for(object.events, object.bell, held)) return -1;
  *queue = take(object.events, object.bell);
  *mark = (*queue)->cq_context;
  ++static_cast<CompletionQueueObject*>(*queue)->events_taken;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned count) {
  const Held held = fabric().lock();
  static_cast<CompletionQueueObject*>(queue)->events_acknowledged += count;
}

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  const Held held = fabric().lock();
  return fabric().modify(static_cast<QueuePairObject&>(*pair), *attributes, mask);
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const Held held = fabric().lock();
  QueuePairObject* made = fabric().add_queue_pair(*domain, *wanted, 0);
  if (made != nullptr) made->state = IBV_QPS_RESET;
  return made;
}

int ibv_destroy_qp(ibv_qp* pair) {
  const Held held = fabric().lock();
  fabric().remove_queue_pair(static_cast<QueuePairObject&>(*pair));
  return 0;
}

int ibv_query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  const Held held = fabric().lock();
  const auto& object = static_cast<QueuePairObject&>(*pair);
  attributes->qp_state = object.state;
  const ibv_mtu set = object.brought_up.path_mtu;
  attributes->path_mtu =
      set != 0 ? set : fabric().owner_of(*pair->context).description.ports.at(object.port - 1).active_mtu;
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Held held = fabric().lock();
  ContextObject& object = fabric().object_of(*context);
  if (!wait_for(object.events, object.bell, held)) return -1;
  *event = take(object.events, object.bell);
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) {}
}
