// Owners of verbs and CM objects, and one function for each way in which RDMA reports trouble, which makes an
// error of it.
//
// An object must be destroyed before what it was made from, so members are declared in the order in which
// they are made: event channel, id, protection domain, completion channel, completion queue, memory regions,
// queue pair.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::net {

template <auto Destroy>
struct DestroyWith {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

using EventChannel = std::unique_ptr<rdma_event_channel, DestroyWith<rdma_destroy_event_channel>>;
using CmId = std::unique_ptr<rdma_cm_id, DestroyWith<rdma_destroy_id>>;
using DeviceContext = std::unique_ptr<ibv_context, DestroyWith<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, DestroyWith<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, DestroyWith<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, DestroyWith<ibv_destroy_cq>>;
using MemoryRegion = std::unique_ptr<ibv_mr, DestroyWith<ibv_dereg_mr>>;
using DeviceList = std::unique_ptr<ibv_device*, DestroyWith<ibv_free_device_list>>;
// A queue pair is made on this: an id whose device is known (somebody else owns it), or a port alone.
struct QueuePairPlace {
  ibv_context* device = nullptr;
  std::uint8_t port = 1;
  rdma_cm_id* id = nullptr;  // null: without librdmacm
};
struct DestroyQueuePair {
  rdma_cm_id* id = nullptr;  // through which it was made, if through any
  void operator()(ibv_qp* pair) const;
};
using QueuePair = std::unique_ptr<ibv_qp, DestroyQueuePair>;
// Makes it in the state INIT. Without librdmacm it is in the first partition of which the port is a full
// member; librdmacm takes that of the IP interface. What is granted is written into `wanted`. Returns null
// and sets errno if the device refuses.
QueuePair make_queue_pair(const QueuePairPlace& place, ibv_pd& pd, ibv_qp_init_attr& wanted);

// Makes a descriptor that a library opened non-blocking, and closed on exec.
io::Result<void> set_up_descriptor(int fd);
io::Result<EventChannel> open_event_channel();
// Keeps registered memory where it is if this process forks, on kernels that do not do so by themselves (they
// do from Linux 5.12 on, and ibv_fork_init(3) finds that out). To be called before any other verb; only the
// first call counts. Where it fails, memory is as it was.
void stand_forks();

// So much of what a peer says with a connect request is read.
inline constexpr std::size_t kCmWordBytes = 8;

// An event of an id. For a connect request, id is the new one.
struct CmEvent {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;
  // Holds the first bytes of the private data (rdma_connect(3)) that the peer sent with a connect request or
  // with its answer to one; zeros if it sent less.
  std::array<std::byte, kCmWordBytes> said{};
};
// Takes and acknowledges one event of a non-blocking channel. Returns nothing if there is none. That the
// address has moved, as in a bond, is left out: it is a hint (rdma_get_cm_event(3)), and the queue pair goes
// on or says itself that it cannot.
std::optional<CmEvent> next_cm_event(rdma_event_channel& channel);

// Opens the device of this name. Errors (connection): there is none, or it cannot be opened.
io::Result<DeviceContext> open_device(const std::string& name);
// Returns all GIDs of the device's ports.
std::vector<ibv_gid_entry> gids_of(ibv_context& device);
// Writes it as in sysfs; empty if it is zero.
std::string gid_text(const ibv_gid& gid);

// Makes an error of errno after a device was asked to make or register something. ENOMEM means the limit on
// locked memory, which queues and registered memory count against.
io::Error device_error(std::string_view operation, std::string_view device, int code = errno);
// Makes an error of a work completion whose status is not IBV_WC_SUCCESS. IBV_WC_WR_FLUSH_ERR only follows
// from another error, which is better reported instead if it is known.
io::Error completion_error(ibv_wc_status status, std::string_view peer);
// Makes an error of a CM event that ends a connection or an attempt at one. status is the event's: an errno
// value if it is below zero, or the reason of a rejection if above (InfiniBand's table of REJ reasons).
io::Error cm_error(rdma_cm_event_type type, int status, std::string_view peer);
// Makes an error of an asynchronous event that ends a stream. It names the port if the event is about one.
io::Error async_error(ibv_event_type type, std::string_view device, unsigned port);

}  // namespace rdcp::net
