// The functions of librdmacm that rdcp calls, in place of the library's own.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/verbs/fabric.h"

using namespace rdcp::made_up;

namespace {

using Held = std::unique_lock<std::mutex>;
using State = IdObject::State;

constexpr int kInvalidServiceId =
    8;  // reasons of a rejection (InfiniBand Architecture Specification 12.6.7.2)
constexpr int kConsumerReject = 28;

IdObject& object(rdma_cm_id* id) {
  return static_cast<IdObject&>(*id);
}

int failed(int code) {
  errno = code;
  return -1;
}

std::size_t bytes_of(const sockaddr& address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

in_port_t& port_of(sockaddr_storage& address) {
  return address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                      : reinterpret_cast<sockaddr_in6&>(address).sin6_port;
}

// A port number is taken at one address alone.
int bind_to(IdObject& id, const sockaddr& address) {
  const auto place = fabric().place_of(address);
  if (!place) return failed(EADDRNOTAVAIL);
  sockaddr_storage own{};
  std::memcpy(&own, &address, bytes_of(address));
  if (port_of(own) == 0) port_of(own) = htons(fabric().next_port());
  const bool taken = std::ranges::any_of(fabric().ids(), [&](const IdObject* other) {
    return other->state == State::listening &&
           std::memcmp(&other->route.addr.src_storage, &own, bytes_of(address)) == 0;
  });
  if (taken) return failed(EADDRINUSE);
  id.route.addr.src_storage = own;
  id.route.addr.addr.ibaddr.sgid = place->gid;
  id.verbs = fabric().shared_context(*place->device);
  id.port_num = place->port;
  id.state = State::bound;
  return 0;
}

QueuePairObject* pair_of(IdObject& id) {
  return static_cast<QueuePairObject*>(id.qp);
}

bool is_iwarp(const IdObject& id) {
  return id.verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

// The port numbers of iWARP are TCP's: a real socket has this one as long as the id listens. It has it at all
// addresses, as the made-up ones are nobody's, and shares it with others of its kind.
int take_number(IdObject& id) {
  sockaddr_storage own = id.route.addr.src_storage;
  const int family = own.ss_family;
  const in_port_t number = port_of(own);
  own = {};
  own.ss_family = static_cast<sa_family_t>(family);
  port_of(own) = number;
  const int yes = 1;
  id.tcp = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool has = ::setsockopt(id.tcp, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0 &&
                   ::bind(id.tcp, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
                   ::listen(id.tcp, 1) == 0;
  return has ? 0 : -1;
}

// The peer hears of the end. Only with iWARP does its queue pair fail at once.
void leave(IdObject& id) {
  IdObject* peer = std::exchange(id.peer, nullptr);
  const State was = std::exchange(id.state, State::over);
  if (peer == nullptr) return;
  peer->peer = nullptr;
  if (was == State::connected) {
    if (is_iwarp(id) && pair_of(*peer) != nullptr) fabric().fail(*pair_of(*peer));
    Fabric::event(*peer, RDMA_CM_EVENT_DISCONNECTED);
  } else if (was == State::requested) {
    Fabric::event(*peer, RDMA_CM_EVENT_REJECTED, is_iwarp(*peer) ? -ECONNREFUSED : kConsumerReject);
    peer->state = State::over;
  } else if (was == State::connecting) {
    Fabric::event(*peer, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
  }
}

// Gives the id's last event the private data.
void say(IdObject& id, const rdma_conn_param* parameters) {
  if (parameters == nullptr || parameters->private_data_len == 0) return;
  rdma_conn_param& said = static_cast<EventChannelObject&>(*id.channel).events.back()->param.conn;
  auto* copy = new std::byte[parameters->private_data_len];
  std::memcpy(copy, parameters->private_data, parameters->private_data_len);
  said.private_data = copy;
  said.private_data_len = parameters->private_data_len;
}

void destroy(rdma_cm_event* event) {
  delete[] static_cast<const std::byte*>(event->param.conn.private_data);
  delete event;
}

// Takes what is left for this id out of its channel, as the kernel does when it is destroyed.
void forget_events(IdObject& id) {
  for (IdObject* each : fabric().ids()) {
    auto& channel = static_cast<EventChannelObject&>(*each->channel);
    std::erase_if(channel.events, [&](rdma_cm_event* event) {
      if (event->id != &id) return false;
      destroy(event);
      return true;
    });
    if (channel.events.empty()) channel.bell.still();
  }
}

// Turns down the requests that nobody has taken.
void refuse_requests(IdObject& listener) {
  auto& channel = static_cast<EventChannelObject&>(*listener.channel);
  std::vector<IdObject*> unheard;
  for (const rdma_cm_event* event : channel.events) {
    if (event->listen_id == &listener) unheard.push_back(static_cast<IdObject*>(event->id));
  }
  for (IdObject* request : unheard) {
    leave(*request);
    forget_events(*request);
    fabric().remove_id(*request);
    delete request;
  }
}

}  // namespace

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  const Held held = fabric().lock();
  if (fabric().conduct().no_cm) {
    errno = ENOENT;
    return nullptr;
  }
  auto* channel = new EventChannelObject();
  channel->fd = channel->bell.fd();
  return channel;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  auto* object = static_cast<EventChannelObject*>(channel);
  for (rdma_cm_event* event : object->events) destroy(event);
  delete object;
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* mark, rdma_port_space space) {
  const Held held = fabric().lock();
  auto* made = new IdObject();
  made->channel = channel;
  made->context = mark;
  made->ps = space;
  fabric().add_id(*made);
  *id = made;
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  const Held held = fabric().lock();
  IdObject& object = ::object(id);
  if (object.state == State::listening) refuse_requests(object);
  if (object.tcp >= 0) ::close(object.tcp);
  leave(object);
  forget_events(object);
  fabric().remove_id(object);
  delete &object;
  return 0;
}

int rdma_set_option(rdma_cm_id* id, int, int name, void* value, std::size_t bytes) {
  const Held held = fabric().lock();
  const auto* first = static_cast<const std::byte*>(value);
  if (name == RDMA_OPTION_ID_TOS && fabric().conduct().no_tos) return failed(ENOSYS);
  if (name == RDMA_OPTION_ID_TOS && object(id).state != State::idle)
    fabric().complain("a traffic class comes too late for the path");
  object(id).options[name].assign(first, first + bytes);
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  const Held held = fabric().lock();
  return bind_to(object(id), *address);
}

int rdma_listen(rdma_cm_id* id, int) {
  const Held held = fabric().lock();
  if (object(id).state != State::bound) return failed(EINVAL);
  if (is_iwarp(object(id)) && take_number(object(id)) != 0) return -1;
  object(id).state = State::listening;
  return 0;
}

// An address that no device has is one that nobody answers for.
int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int) {
  const Held held = fabric().lock();
  IdObject& object = ::object(id);
  if (from == nullptr || bind_to(object, *from) != 0) return -1;
  std::memcpy(&object.route.addr.dst_storage, to, bytes_of(*to));
  const auto place = fabric().place_of(*to);
  if (place) {
    object.state = State::resolved;
    object.route.addr.addr.ibaddr.dgid = place->gid;
    Fabric::event(object, RDMA_CM_EVENT_ADDR_RESOLVED);
  } else {
    Fabric::event(object, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
  }
  return 0;
}

int rdma_resolve_route(rdma_cm_id* id, int) {
  const Held held = fabric().lock();
  if (object(id).state != State::resolved) return failed(EINVAL);
  Fabric::event(object(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const Held held = fabric().lock();
  QueuePairObject* made = fabric().add_queue_pair(*domain, *wanted, id->port_num);
  if (made == nullptr) return -1;
  id->qp = made;
  return 0;
}

void rdma_destroy_qp(rdma_cm_id* id) {
  const Held held = fabric().lock();
  if (is_iwarp(object(id))) leave(object(id));
  fabric().remove_queue_pair(*pair_of(object(id)));
  id->qp = nullptr;
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  Held held = fabric().lock();
  const auto blocks = fabric().conduct().connect_blocks;
  held.unlock();
  ::poll(nullptr, 0, static_cast<int>(blocks.count()));
  held.lock();
  IdObject& object = ::object(id);
  if (object.state != State::resolved) return failed(EINVAL);
  IdObject* listener = fabric().listener_at(object.route.addr.dst_storage);
  if (listener == nullptr) {
    Fabric::event(object, RDMA_CM_EVENT_REJECTED, is_iwarp(object) ? -ECONNREFUSED : kInvalidServiceId);
    return 0;
  }
  auto* request = new IdObject();
  request->channel = listener->channel;
  request->context = listener->context;
  request->ps = listener->ps;
  request->verbs = listener->verbs;
  request->port_num = listener->port_num;
  request->route.addr.src_storage = listener->route.addr.src_storage;
  request->route.addr.dst_storage = object.route.addr.src_storage;
  request->route.addr.addr.ibaddr.sgid = listener->route.addr.addr.ibaddr.sgid;
  request->state = State::requested;
  request->peer = &object;
  object.state = State::connecting;
  object.peer = request;
  fabric().add_id(*request);
  Fabric::event(*request, RDMA_CM_EVENT_CONNECT_REQUEST, 0, listener);
  say(*listener, parameters);
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  const Held held = fabric().lock();
  IdObject& object = ::object(id);
  if (object.state != State::requested || object.peer == nullptr || object.qp == nullptr) {
    return failed(EINVAL);
  }
  IdObject& peer = *object.peer;
  fabric().join(*pair_of(object), *pair_of(peer));
  object.state = peer.state = State::connected;
  Fabric::event(object, RDMA_CM_EVENT_ESTABLISHED);
  Fabric::event(peer, RDMA_CM_EVENT_ESTABLISHED);
  say(peer, parameters);
  return 0;
}

int rdma_disconnect(rdma_cm_id* id) {
  const Held held = fabric().lock();
  IdObject& object = ::object(id);
  if (object.qp != nullptr) fabric().fail(*pair_of(object));
  if (object.state != State::connected) return failed(EINVAL);
  leave(object);
  Fabric::event(object, RDMA_CM_EVENT_DISCONNECTED);
  return 0;
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  const Held held = fabric().lock();
  auto& from = static_cast<EventChannelObject&>(*id->channel);
  auto& to = static_cast<EventChannelObject&>(*channel);
  for (auto next = from.events.begin(); next != from.events.end();) {
    if ((*next)->id == id) {
      to.events.push_back(*next);
      to.bell.ring();
      next = from.events.erase(next);
    } else {
      ++next;
    }
  }
  if (from.events.empty()) from.bell.still();
  id->channel = channel;
  return 0;
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  const Held held = fabric().lock();
  auto& object = static_cast<EventChannelObject&>(*channel);
  if (object.events.empty()) return failed(EAGAIN);
  *event = object.events.front();
  object.events.pop_front();
  if (object.events.empty()) object.bell.still();
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  destroy(event);
  return 0;
}
}
