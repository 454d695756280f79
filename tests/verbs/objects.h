// The objects behind the pointers that the libraries' callers hold.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/verbs/devices.h"

namespace rdcp::made_up {

// A descriptor that is readable while there is something to take.
class Bell {
 public:
  Bell() : fd_(::eventfd(0, EFD_CLOEXEC)) {}
  ~Bell() { ::close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  int fd() const { return fd_; }
  void ring() {
    if (!std::exchange(rung_, true)) ::eventfd_write(fd_, 1);
  }
  void still() {
    eventfd_t value = 0;
    if (std::exchange(rung_, false)) ::eventfd_read(fd_, &value);
  }

 private:
  int fd_;
  bool rung_ = false;
};

struct OwnedDevice {
  explicit OwnedDevice(Device described);
  Device description;
  ibv_device device{};
  ibv_context* shared = nullptr;
};

struct ContextObject {
  verbs_context verbs{};
  OwnedDevice* owner = nullptr;
  Bell bell;
  std::deque<ibv_async_event> events;
};

struct ChannelObject : ibv_comp_channel {
  Bell bell;
  std::deque<ibv_cq*> events;
};

struct QueuePairObject;

struct CompletionEntry {
  ibv_wc completion{};
  QueuePairObject* pair = nullptr;
  std::uint64_t frees = 0;  // requests of the pair's send queue, in all, whose room this gives back
};

struct CompletionQueueObject : ibv_cq {
  int vector = 0;
  bool armed = false;
  bool broken = false;
  std::uint32_t events_taken = 0;
  std::uint32_t events_acknowledged = 0;
  std::deque<CompletionEntry> entries;
};

struct MemoryRegionObject : ibv_mr {
  unsigned access = 0;
};

struct SendRequest {
  std::uint64_t id = 0;
  std::uint64_t number = 0;  // counted from 1 for each queue pair
  ibv_wr_opcode opcode = IBV_WR_SEND;
  bool signalled = false;
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inlined;
  bool is_inline = false;
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::chrono::steady_clock::time_point due;
  std::chrono::steady_clock::time_point waits_since{};
  ibv_wc_status fails_with = IBV_WC_SUCCESS;
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::vector<ibv_sge> pieces;
};

struct QueuePairObject : ibv_qp {
  ibv_qp_cap cap{};
  unsigned port = 1;
  std::uint16_t partition = 0xffff;  // the key
  std::uint32_t peer = 0;            // its number; 0 if there is none
  ibv_qp_attr brought_up{};  // what was set by ibv_modify_qp(), if the pair was made without librdmacm
  bool peer_is_silent = false;
  std::uint64_t posted = 0;
  std::uint64_t freed = 0;
  std::deque<SendRequest> sends;
  std::deque<ReceiveRequest> receives;
};

struct EventChannelObject : rdma_event_channel {
  Bell bell;
  std::deque<rdma_cm_event*> events;
};

struct IdObject : rdma_cm_id {
  enum class State { idle, bound, listening, resolved, connecting, requested, connected, over };
  State state = State::idle;
  IdObject* peer = nullptr;
  int tcp = -1;                                   // iWARP: the socket that has the number on which it listens
  std::map<int, std::vector<std::byte>> options;  // set by rdma_set_option(), by name
};

}  // namespace rdcp::made_up
