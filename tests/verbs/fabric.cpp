#include "tests/verbs/fabric.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace rdcp::made_up {
namespace {

bool same_host(const std::string& host, const sockaddr& address) {
  in6_addr bytes{};
  if (::inet_pton(address.sa_family, host.c_str(), &bytes) != 1) return false;
  if (address.sa_family == AF_INET) {
    return std::memcmp(&bytes, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4) == 0;
  }
  return std::memcmp(&bytes, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16) == 0;
}

template <class T>
T taken(T& from) {
  return std::exchange(from, T{});
}

}  // namespace

ibv_gid gid_of(const Port& port, const sockaddr& address) {
  ibv_gid gid{};
  if (address.sa_family == AF_INET6) {
    std::memcpy(gid.raw, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  } else {
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  }
  if (port.link_layer != IBV_LINK_LAYER_INFINIBAND) return gid;
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0x80;
  std::fill(gid.raw + 2, gid.raw + 12, 0);
  return gid;
}

ibv_gid gid_of(const Port& port, const std::string& host) {
  sockaddr_storage address{};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  address.ss_family = ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1 ? AF_INET6 : AF_INET;
  if (address.ss_family == AF_INET) ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr);
  return gid_of(port, reinterpret_cast<const sockaddr&>(address));
}

std::vector<ibv_gid> gids_of(const Device& device, std::size_t port) {
  const Port& one = device.ports.at(port);
  std::vector<ibv_gid> gids;
  for (const IpAddress& address : one.addresses) gids.push_back(gid_of(one, address.host));
  if (gids.empty() && one.link_layer == IBV_LINK_LAYER_INFINIBAND) {
    ibv_gid own{};
    own.raw[0] = 0xfe;
    own.raw[1] = 0x80;
    std::copy_n(device.name.begin(), std::min<std::size_t>(device.name.size(), 7), own.raw + 8);
    own.raw[15] = static_cast<std::uint8_t>(port + 1);
    gids.push_back(own);
  }
  return gids;
}

OwnedDevice::OwnedDevice(Device described) : description(std::move(described)) {
  static int number = 0;
  device.node_type = description.transport == IBV_TRANSPORT_IB      ? IBV_NODE_CA
                     : description.transport == IBV_TRANSPORT_IWARP ? IBV_NODE_RNIC
                                                                    : IBV_NODE_UNSPECIFIED;
  device.transport_type = description.transport;
  description.name.copy(device.name, sizeof(device.name) - 1);
  const std::string node = "uverbs" + std::to_string(number++);
  node.copy(device.dev_name, sizeof(device.dev_name) - 1);
}

Fabric& fabric() {
  static Fabric the;
  return the;
}

// A child of a fork has no thread of its parent's.
Fabric::~Fabric() {
  {
    const auto held = lock();
    ends_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  if (thread_of_ == ::getpid()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void Fabric::set_devices(std::vector<Device> devices) {
  const auto held = lock();
  for (auto& former : devices_) former_devices_.push_back(std::move(former));
  devices_.clear();
  for (Device& device : devices) devices_.push_back(std::make_shared<OwnedDevice>(std::move(device)));
  files_.clear();
  conduct_ = {};
  counts_ = {};
  made_.clear();
  registrations_.clear();
  brought_up_.clear();
  requests_ = 0;
}

void Fabric::conduct(const Conduct& conduct) {
  const auto held = lock();
  conduct_ = conduct;
  for (Fault& fault : conduct_.faults) fault.at_request += requests_;
}

void Fabric::raise(const std::string& device, ibv_event_type type, unsigned port) {
  const auto held = lock();
  for (const auto& each : devices_) {
    if (each->description.name == device) raise_locked(*each, type, port);
  }
}

void Fabric::raise_locked(OwnedDevice& device, ibv_event_type type, unsigned port) {
  for (const auto& context : contexts_) {
    if (context->owner != &device) continue;
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = static_cast<int>(port);
    context->events.push_back(event);
    context->bell.ring();
  }
}

void Fabric::tell(const std::string& device, rdma_cm_event_type type) {
  const auto held = lock();
  for (const auto& each : devices_) {
    if (each->description.name == device) tell_locked(*each, type);
  }
}

void Fabric::tell_locked(OwnedDevice& device, rdma_cm_event_type type) {
  for (IdObject* id : ids_) {
    if (id->verbs == device.shared && id->state == IdObject::State::connected) event(*id, type);
  }
}

std::vector<std::string> Fabric::take_complaints() {
  const auto held = lock();
  return taken(complaints_);
}

Fabric::Counts Fabric::counts() {
  const auto held = lock();
  return counts_;
}

std::vector<Fabric::MadeQueuePair> Fabric::queue_pairs() {
  const auto held = lock();
  return made_;
}

std::vector<unsigned> Fabric::registrations() {
  const auto held = lock();
  return registrations_;
}

std::vector<ibv_qp_attr> Fabric::brought_up() {
  const auto held = lock();
  return brought_up_;
}

ibv_context* Fabric::shared_context(OwnedDevice& device) {
  if (device.shared == nullptr) device.shared = open(device.device);
  return device.shared;
}

ContextObject& Fabric::object_of(const ibv_context& context) {
  const auto found =
      std::ranges::find_if(contexts_, [&](const auto& each) { return &each->verbs.context == &context; });
  return **found;
}

void Fabric::close(ibv_context& context) {
  std::erase_if(contexts_, [&](const auto& each) { return &each->verbs.context == &context; });
}

std::optional<Fabric::Place> Fabric::place_of(const sockaddr& address) {
  for (const auto& device : devices_) {
    for (std::size_t i = 0; i < device->description.ports.size(); ++i) {
      const Port& port = device->description.ports[i];
      const bool here = std::ranges::any_of(
          port.addresses, [&](const IpAddress& each) { return same_host(each.host, address); });
      if (here) return Place{device.get(), static_cast<std::uint8_t>(i + 1), gid_of(port, address)};
    }
  }
  return std::nullopt;
}

MemoryRegionObject* Fabric::add_region(ibv_pd& pd, void* address, std::size_t bytes, unsigned access) {
  const std::uint64_t most = owner_of(*pd.context).description.attributes.max_mr_size;
  if (bytes > conduct_.lockable_bytes || bytes > most) {
    errno = bytes > most ? EINVAL : ENOMEM;
    return nullptr;
  }
  auto region = std::make_unique<MemoryRegionObject>();
  static_cast<ibv_mr&>(*region) = {pd.context, &pd, address, bytes, 0, next_key_, next_key_};
  next_key_ += 0x100;
  region->access = access;
  registrations_.push_back(access);
  MemoryRegionObject* made = region.get();
  regions_[made->lkey] = std::move(region);
  return made;
}

void Fabric::remove_region(ibv_mr& region) {
  regions_.erase(region.lkey);
}

void Fabric::remove_id(IdObject& id) {
  std::erase(ids_, &id);
  for (IdObject* other : ids_) {
    if (other->peer == &id) other->peer = nullptr;
  }
}

IdObject* Fabric::listener_at(const sockaddr_storage& address) {
  const auto same = [&](const sockaddr_storage& own) {
    if (own.ss_family != address.ss_family) return false;
    const std::size_t bytes =
        own.ss_family == AF_INET ? sizeof(sockaddr_in) : offsetof(sockaddr_in6, sin6_scope_id);
    if (own.ss_family == AF_INET6) {
      const auto& a = reinterpret_cast<const sockaddr_in6&>(own);
      const auto& b = reinterpret_cast<const sockaddr_in6&>(address);
      return a.sin6_port == b.sin6_port && std::memcmp(&a.sin6_addr, &b.sin6_addr, 16) == 0;
    }
    return std::memcmp(&own, &address, bytes) == 0;
  };
  for (IdObject* id : ids_) {
    if (id->state == IdObject::State::listening && same(id->route.addr.src_storage)) return id;
  }
  return nullptr;
}

void Fabric::event(IdObject& id, rdma_cm_event_type type, int status, IdObject* listener) {
  IdObject& told_at = listener != nullptr ? *listener : id;
  auto& channel = static_cast<EventChannelObject&>(*told_at.channel);
  auto* made = new rdma_cm_event{};
  made->id = &id;
  made->listen_id = listener;
  made->event = type;
  made->status = status;
  channel.events.push_back(made);
  channel.bell.ring();
}

void Fabric::later(QueuePairObject& pair, Clock::time_point when) {
  due_.emplace(when, pair.qp_num);
  changed_.notify_all();
  if (thread_of_ == ::getpid()) return;
  if (thread_.joinable()) thread_.detach();
  thread_of_ = ::getpid();
  thread_ = std::thread([this] { run(); });
}

void Fabric::run() {
  auto held = lock();
  while (!ends_) {
    if (due_.empty()) {
      changed_.wait(held);
    } else if (due_.begin()->first > Clock::now()) {
      changed_.wait_until(held, due_.begin()->first);
    } else {
      const std::uint32_t number = due_.begin()->second;
      due_.erase(due_.begin());
      if (const auto found = pairs_.find(number); found != pairs_.end()) carry_out(*found->second);
    }
  }
}

}  // namespace rdcp::made_up
