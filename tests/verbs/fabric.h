// Made-up RDMA devices and what joins them, within one process. This stands in for libibverbs and librdmacm
// as far as rdcp calls them: it is linked into a test program, or preloaded (environment.cpp).
//
// Requests are checked as devices check them: the limits of queues, completion queues and inline data, keys,
// bounds and access of memory. A request queue's room is free again when a completion behind it has been
// polled. What no device would have told, but would have suffered from, is kept in complaints().
//
// One lock guards everything. Requests are carried out where they are posted, unless a latency was asked for
// or the peer is not ready; then a thread carries them out when they are due.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/verbs/devices.h"
#include "tests/verbs/objects.h"

namespace rdcp::made_up {

// Something that happens to the fabric by itself.
struct Fault {
  enum class Kind {
    completion,   // the request fails with `status`, and its queue pair with it
    poll,         // ibv_poll_cq() of the queue pair's completion queue fails from now on
    port_down,    // IBV_EVENT_PORT_ERR of the queue pair's port
    port_up,      // IBV_EVENT_PORT_ACTIVE
    fatal,        // IBV_EVENT_DEVICE_FATAL
    addr_change,  // RDMA_CM_EVENT_ADDR_CHANGE to each connected id of the device
    silent        // the queue pair's peer acknowledges nothing any more
  };
  Kind kind = Kind::completion;
  std::uint64_t at_request = 0;  // of all that are posted to send queues, counted from 1
  ibv_wc_status status = IBV_WC_GENERAL_ERR;
};

// What can be set at any time.
struct Conduct {
  std::chrono::microseconds latency{0};              // of each request
  std::chrono::milliseconds retry_time{50};          // until a device gives up a peer that does not answer
  std::chrono::milliseconds not_ready_time{200};     // until it gives up one that posts no receive
  std::uint64_t drops_above = ~std::uint64_t{0};     // the path loses sends and writes with more bytes
  std::uint64_t lockable_bytes = ~std::uint64_t{0};  // registering more at once is refused (ENOMEM)
  bool no_cm = false;                                // there is no /dev/infiniband/rdma_cm
  std::chrono::milliseconds connect_blocks{0};       // for how long rdma_connect() does not return
  bool no_tos = false;                               // connections are given no traffic class (ENOSYS)
  std::vector<Fault> faults{};
};

// The directory that stands for the kernel's files about the devices.
class MadeUpFiles {
 public:
  MadeUpFiles() = default;
  ~MadeUpFiles();
  MadeUpFiles(const MadeUpFiles&) = delete;
  MadeUpFiles& operator=(const MadeUpFiles&) = delete;
  void make(const std::vector<std::shared_ptr<OwnedDevice>>& devices);
  void clear();
  const std::string& root() const { return root_; }

 private:
  std::string root_;
  pid_t made_by_ = 0;
};

class Fabric {
 public:
  Fabric() = default;
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // Replaces all devices. Whatever was opened before stays valid.
  void set_devices(std::vector<Device> devices);
  void conduct(const Conduct& conduct);
  // Tells everybody who has the device open. port is ignored for events that are not about one.
  void raise(const std::string& device, ibv_event_type type, unsigned port = 1);
  // Tells each connected id of the device.
  void tell(const std::string& device, rdma_cm_event_type type);
  std::vector<std::string> take_complaints();

  // Returns the file that is opened instead of this one, or the same.
  std::string file_for(const char* path);
  // Changes a made-up file, such as a counter.
  void put_file(const std::string& path, const std::string& text);

  // What was done since the devices were set.
  struct Counts {
    std::uint64_t sends = 0, writes = 0, signalled_writes = 0, inline_sends = 0, posts = 0, polls = 0,
                  empty_polls = 0, bells = 0;
    std::uint64_t bytes = 0;
  };
  Counts counts();
  struct MadeQueuePair {
    std::string device;
    ibv_qp_cap cap;  // as it was granted
    int completion_vector;
  };
  std::vector<MadeQueuePair> queue_pairs();  // each that was ever made
  std::vector<unsigned> registrations();     // the access flags of each
  // What was set for those that came to RTS by ibv_modify_qp(), in that order.
  std::vector<ibv_qp_attr> brought_up();
  bool fork_safe() { return fork_safe_; }

  // The rest is for the calls of the libraries; all but lock() are to be called with the lock held.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  const std::vector<std::shared_ptr<OwnedDevice>>& devices() const { return devices_; }
  void complain(const std::string& text) { complaints_.push_back(text); }
  ibv_context* open(ibv_device& device);
  void close(ibv_context& context);
  ContextObject& object_of(const ibv_context& context);
  OwnedDevice& owner_of(const ibv_context& context) { return *object_of(context).owner; }
  // The one context in which librdmacm has the device open.
  ibv_context* shared_context(OwnedDevice& device);
  struct Place {
    OwnedDevice* device;
    std::uint8_t port;
    ibv_gid gid;
  };
  std::optional<Place> place_of(const sockaddr& address);

  MemoryRegionObject* add_region(ibv_pd& pd, void* address, std::size_t bytes, unsigned access);
  void remove_region(ibv_mr& region);
  QueuePairObject* add_queue_pair(ibv_pd& pd, const ibv_qp_init_attr& wanted, unsigned port);
  void remove_queue_pair(QueuePairObject& pair);
  void join(QueuePairObject& one, QueuePairObject& other);
  int modify(QueuePairObject& pair, const ibv_qp_attr& wanted, int mask);
  std::uint16_t lid_of(const OwnedDevice& device, unsigned port) const;
  void fail(QueuePairObject& pair);
  int post_send(QueuePairObject& pair, ibv_send_wr* request, ibv_send_wr** refused);
  int post_receive(QueuePairObject& pair, ibv_recv_wr* request, ibv_recv_wr** refused);
  int poll(CompletionQueueObject& queue, int most, ibv_wc* done);
  int arm(CompletionQueueObject& queue);

  void add_id(IdObject& id) { ids_.push_back(&id); }
  void remove_id(IdObject& id);
  IdObject* listener_at(const sockaddr_storage& address);
  const std::vector<IdObject*>& ids() const { return ids_; }
  static void event(IdObject& id, rdma_cm_event_type type, int status = 0, IdObject* listener = nullptr);
  std::uint16_t next_port() { return next_port_++; }
  void set_fork_safe() { fork_safe_ = true; }
  const Conduct& conduct() const { return conduct_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Outcome { done, wait, failed };

  bool leads_to(const QueuePairObject& pair, const ibv_qp_attr& wanted) const;
  bool takes_from(const QueuePairObject& peer, const QueuePairObject& pair) const;

  int check(QueuePairObject& pair, const ibv_send_wr& request);
  void queue(QueuePairObject& pair, const ibv_send_wr& request);
  void meet_faults(QueuePairObject& pair, SendRequest& request);
  void raise_locked(OwnedDevice& device, ibv_event_type type, unsigned port);
  void tell_locked(OwnedDevice& device, rdma_cm_event_type type);
  void carry_out(QueuePairObject& pair);
  Outcome carry_out(QueuePairObject& pair, SendRequest& request);
  Outcome write(QueuePairObject& pair, SendRequest& request);
  void tell_of_write(QueuePairObject& peer, std::uint32_t bytes);
  Outcome send(QueuePairObject& pair, SendRequest& request);
  Outcome terminate(QueuePairObject& pair);
  Outcome wait_for(QueuePairObject& pair, SendRequest& request, std::chrono::milliseconds patience,
                   ibv_wc_status status);
  MemoryRegionObject* region_by_key(const ibv_context& context, std::uint32_t key);
  bool may_use(const QueuePairObject& pair, const ibv_sge& piece, bool writes);
  void complete(CompletionQueueObject& queue, const CompletionEntry& entry);
  void complete_send(QueuePairObject& pair, const SendRequest& request, ibv_wc_status status);
  void later(QueuePairObject& pair, Clock::time_point when);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<OwnedDevice>> devices_;
  std::vector<std::shared_ptr<OwnedDevice>> former_devices_;
  std::vector<std::unique_ptr<ContextObject>> contexts_;
  std::map<std::uint32_t, std::unique_ptr<MemoryRegionObject>> regions_;
  std::map<std::uint32_t, std::unique_ptr<QueuePairObject>> pairs_;
  std::vector<IdObject*> ids_;
  std::multimap<Clock::time_point, std::uint32_t> due_;  // of queue pairs, by number
  MadeUpFiles files_;
  Conduct conduct_;
  Counts counts_;
  std::vector<MadeQueuePair> made_;
  std::vector<unsigned> registrations_;
  std::vector<ibv_qp_attr> brought_up_;
  std::vector<std::string> complaints_;
  std::uint64_t requests_ = 0;
  std::uint32_t next_key_ = 0x1000;
  std::uint32_t next_pair_ = 17;
  std::uint16_t next_port_ = 40000;
  bool fork_safe_ = false;
  bool ends_ = false;
  pid_t thread_of_ = 0;  // the process that the thread runs in
  std::thread thread_;
};

// The one of this process.
Fabric& fabric();
// Returns 0 if no made-up interface has this name. To be called with the lock held.
unsigned index_of_interface(const std::string& name);
// Sets the devices and their conduct as environment.cpp says; so it is from the start.
void set_devices_of_environment();
// As the kernel makes it of an IP address: an IPv4 address is mapped (RoCE). One of InfiniBand is link-local.
ibv_gid gid_of(const Port& port, const sockaddr& address);
ibv_gid gid_of(const Port& port, const std::string& host);
// Returns all GIDs of a port. One of InfiniBand has one without an IP address, too.
std::vector<ibv_gid> gids_of(const Device& device, std::size_t port);

}  // namespace rdcp::made_up
