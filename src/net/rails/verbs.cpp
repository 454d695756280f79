#include "net/rails/verbs.h"

#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace rdcp::net {
namespace {

constexpr std::string_view kDoesNotAnswer = "does not answer any more (the link or the host is down)";

// The reasons of a rejection (InfiniBand Architecture Specification 12.6.7.2) that a user can act on.
constexpr int kRejectNoResources = 3;
constexpr int kRejectTimeout = 4;
constexpr int kRejectInvalidServiceId = 8;
constexpr int kRejectConsumer = 28;

std::string_view cause_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return kDoesNotAnswer;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "answers, but does not take data (it is stuck, or posts no receives)";
    case IBV_WC_REM_ACCESS_ERR:
      return "refused access to its memory";
    case IBV_WC_REM_INV_REQ_ERR:
      return "found a request invalid";
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return "could not carry out a request";
    case IBV_WC_WR_FLUSH_ERR:
      return "the connection broke off";
    case IBV_WC_LOC_LEN_ERR:
      return "sent a message that is too long";
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
      return "this host's RDMA device refused access to our own memory";
    case IBV_WC_LOC_QP_OP_ERR:  // with Soft-RoCE, when its network interface goes down
      return "this host's RDMA device could not send (its link may be down)";
    case IBV_WC_FATAL_ERR:
    case IBV_WC_GENERAL_ERR:
      return "this host's RDMA device failed";
    default:
      return "";
  }
}

std::string rejection(int status) {
  switch (status) {
    case kRejectInvalidServiceId:
    case -ECONNREFUSED:
      return "refused the connection (nobody listens there)";
    case kRejectConsumer:
      return "refused the connection (the listener turned it away)";
    case kRejectNoResources:
      return "refused the connection (out of RDMA resources)";
    case kRejectTimeout:
      return "refused the connection (the answers took too long)";
    default:
      return "refused the connection (reason " + std::to_string(status) + ")";
  }
}

// Returns "what (Connection timed out)". CM reports errno values below zero.
std::string with_errno(std::string_view what, int status) {
  const char* name = status < 0 ? ::strerrordesc_np(-status) : nullptr;
  return std::string(what) + (name == nullptr ? "" : " (" + std::string(name) + ")");
}

std::string cause_of(rdma_cm_event_type type, int status) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return with_errno("its address does not answer on this RDMA device", status);
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return with_errno("no RDMA path leads there", status);
    case RDMA_CM_EVENT_UNREACHABLE:
      return with_errno("does not answer over RDMA", status);
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return with_errno("the RDMA connection could not be made", status);
    case RDMA_CM_EVENT_REJECTED:
      return rejection(status);
    case RDMA_CM_EVENT_DISCONNECTED:
      return "closed the connection before the end";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "the RDMA device was removed";
    default:
      return "unexpected RDMA event: " + std::string(rdma_event_str(type));
  }
}

// Returns where in the port's table of partitions the first one is of which it is a full member; 0 if it is
// one of none, or the device does not say. Limited members of a partition cannot speak to each other.
std::uint16_t partition_index(ibv_context& device, std::uint8_t port) {
  constexpr std::uint16_t kFullMember = 0x8000, kNumber = 0x7fff;
  ibv_port_attr attributes{};
  if (ibv_query_port(&device, port, &attributes) != 0) return 0;
  for (std::uint16_t index = 0; index < attributes.pkey_tbl_len; ++index) {
    __be16 raw = 0;
    if (ibv_query_pkey(&device, port, index, &raw) != 0) continue;
    const std::uint16_t key = be16toh(raw);
    if ((key & kFullMember) != 0 && (key & kNumber) != 0) return index;
  }
  return 0;
}

}  // namespace

io::Result<void> set_up_descriptor(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return io::errno_error("set up", "RDMA descriptor", errno, io::ErrorKind::connection);
  }
  return {};
}

void DestroyQueuePair::operator()(ibv_qp* pair) const {
  if (id != nullptr) {
    rdma_destroy_qp(id);
  } else {
    ibv_destroy_qp(pair);
  }
}

QueuePair make_queue_pair(const QueuePairPlace& place, ibv_pd& pd, ibv_qp_init_attr& wanted) {
  if (place.id != nullptr) {
    if (rdma_create_qp(place.id, &pd, &wanted) != 0) return nullptr;
    return {place.id->qp, DestroyQueuePair{place.id}};
  }
  QueuePair pair(ibv_create_qp(&pd, &wanted));
  if (!pair) return nullptr;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = partition_index(*place.device, place.port);
  attributes.port_num = place.port;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  const int code = ibv_modify_qp(pair.get(), &attributes,
                                 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (code == 0) return pair;
  pair.reset();
  errno = code;
  return nullptr;
}

void stand_forks() {
  [[maybe_unused]] static const int done = ibv_fork_init();
}

io::Result<EventChannel> open_event_channel() {
  stand_forks();
  EventChannel channel(rdma_create_event_channel());
  if (!channel) return io::errno_error("open", "/dev/infiniband/rdma_cm", errno, io::ErrorKind::connection);
  if (auto set = set_up_descriptor(channel->fd); !set) return set.error();
  return channel;
}

io::Result<DeviceContext> open_device(const std::string& name) {
  stand_forks();
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  for (int i = 0; list && i < count; ++i) {
    ibv_device* device = list.get()[i];
    if (name != ibv_get_device_name(device)) continue;
    DeviceContext context(ibv_open_device(device));
    if (!context) return device_error("open", name);
    if (auto set = set_up_descriptor(context->async_fd); !set) return set.error();
    return context;
  }
  return device_error("open", name, ENODEV);
}

std::vector<ibv_gid_entry> gids_of(ibv_context& device) {
  ibv_device_attr limits{};
  if (ibv_query_device(&device, &limits) != 0) return {};
  std::size_t most = 0;
  for (unsigned number = 1; number <= limits.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (ibv_query_port(&device, static_cast<std::uint8_t>(number), &port) != 0) continue;
    most += static_cast<std::size_t>(std::max(port.gid_tbl_len, 0));
  }
  std::vector<ibv_gid_entry> table(most);
  const ssize_t found = ibv_query_gid_table(&device, table.data(), table.size(), 0);
  table.resize(static_cast<std::size_t>(std::max<ssize_t>(found, 0)));
  return table;
}

std::string gid_text(const ibv_gid& gid) {
  if (std::ranges::all_of(gid.raw, [](std::uint8_t byte) { return byte == 0; })) return {};
  std::string text;
  for (std::size_t i = 0; i < sizeof(gid.raw); i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.raw[i], gid.raw[i + 1]);
  }
  return text;
}

std::optional<CmEvent> next_cm_event(rdma_event_channel& channel) {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(&channel, &event) == 0) {
    CmEvent taken{event->event, event->status, event->id};
    if (taken.type == RDMA_CM_EVENT_CONNECT_REQUEST || taken.type == RDMA_CM_EVENT_ESTABLISHED) {
      const rdma_conn_param& said = event->param.conn;
      const std::size_t bytes = std::min<std::size_t>(said.private_data_len, taken.said.size());
      if (said.private_data != nullptr) std::memcpy(taken.said.data(), said.private_data, bytes);
    }
    rdma_ack_cm_event(event);
    if (taken.type != RDMA_CM_EVENT_ADDR_CHANGE) return taken;
  }
  return std::nullopt;
}

io::Error device_error(std::string_view operation, std::string_view device, int code) {
  const std::string subject = "RDMA device " + std::string(device);
  if (code != ENOMEM) return io::errno_error(operation, subject, code, io::ErrorKind::connection);
  return io::plain_error(io::ErrorKind::connection, operation, subject,
                         "not enough memory may be locked (ulimit -l)");
}

io::Error completion_error(ibv_wc_status status, std::string_view peer) {
  std::string cause(cause_of(status));
  if (cause.empty()) cause = "RDMA failed: " + std::string(ibv_wc_status_str(status));
  return io::plain_error(io::ErrorKind::connection, "peer", peer, cause);
}

io::Error cm_error(rdma_cm_event_type type, int status, std::string_view peer) {
  return io::plain_error(io::ErrorKind::connection, "peer", peer, cause_of(type, status));
}

io::Error async_error(ibv_event_type type, std::string_view device, unsigned port) {
  std::string cause;
  switch (type) {
    case IBV_EVENT_PORT_ERR:
      cause = "port " + std::to_string(port) + " went down";
      break;
    case IBV_EVENT_DEVICE_FATAL:
      cause = "failed or was removed";
      break;
    default:
      cause = "reports: " + std::string(ibv_event_type_str(type));
  }
  return io::plain_error(io::ErrorKind::connection, "RDMA device", device, cause);
}

}  // namespace rdcp::net
