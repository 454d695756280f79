// Owners of verbs and CM objects, and the one gate from each of the places where RDMA reports trouble.
//
// An object is destroyed before what it was made from, so owners stand in members in the order in which they
// were made: event channel, id, protection domain, completion channel, completion queue, memory regions,
// queue pair.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <optional>
#include <string_view>

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
// The queue pair of an id, which is owned by somebody else.
using QueuePair = std::unique_ptr<rdma_cm_id, DestroyWith<rdma_destroy_qp>>;

// Makes a descriptor that a library opened non-blocking and closed on exec.
io::Result<void> set_up_descriptor(int fd);
io::Result<EventChannel> open_event_channel();

// What happened to an id; for a connect request, id is the new one.
struct CmEvent {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;
};
// Takes and acknowledges one event of a non-blocking channel; nothing when there is none.
std::optional<CmEvent> next_cm_event(rdma_event_channel& channel);

// The gate from errno for what a device is asked to make or register: ENOMEM means the limit on locked
// memory, which queues and registered memory count against.
io::Error device_error(std::string_view operation, std::string_view device, int code = errno);
// The gate from work completions. status is not IBV_WC_SUCCESS. IBV_WC_WR_FLUSH_ERR only follows from
// something else, which is told better where it is known.
io::Error completion_error(ibv_wc_status status, std::string_view peer);
// The gate from CM events, of those that end a connection or an attempt at one. status: the event's, an errno
// value below zero, or the reason of a rejection above (InfiniBand's table of REJ reasons).
io::Error cm_error(rdma_cm_event_type type, int status, std::string_view peer);
// The gate from asynchronous events, of those that end a stream. port is named where the event is about one.
io::Error async_error(ibv_event_type type, std::string_view device, unsigned port);

}  // namespace rdcp::net
