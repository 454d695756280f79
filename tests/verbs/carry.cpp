// How queue pairs carry out what is posted to them.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "tests/verbs/fabric.h"

namespace rdcp::made_up {
namespace {

std::uint64_t bytes_of(const std::vector<ibv_sge>& pieces) {
  std::uint64_t bytes = 0;
  for (const ibv_sge& piece : pieces) bytes += piece.length;
  return bytes;
}

void copy(const std::vector<ibv_sge>& from, std::uint64_t to) {
  for (const ibv_sge& piece : from) {
    if (piece.length == 0) continue;
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(piece.addr), piece.length);
    to += piece.length;
  }
}

// Where the bytes of a request are now.
std::vector<ibv_sge> pieces_of(const SendRequest& request) {
  if (!request.is_inline) return request.pieces;
  return {{reinterpret_cast<std::uint64_t>(request.inlined.data()),
           static_cast<std::uint32_t>(request.inlined.size()), 0}};
}

// It has no acknowledgements of its own: what TCP has taken is complete.
bool is_iwarp(const QueuePairObject& pair) {
  return pair.context->device->transport_type == IBV_TRANSPORT_IWARP;
}

CompletionQueueObject& object(ibv_cq& queue) {
  return static_cast<CompletionQueueObject&>(queue);
}

}  // namespace

QueuePairObject* Fabric::add_queue_pair(ibv_pd& pd, const ibv_qp_init_attr& wanted, unsigned port) {
  const Device& device = owner_of(*pd.context).description;
  const ibv_device_attr& limits = device.attributes;
  const auto most = [](int limit) { return static_cast<std::uint32_t>(limit); };
  const bool fits =
      wanted.cap.max_send_wr <= most(limits.max_qp_wr) && wanted.cap.max_recv_wr <= most(limits.max_qp_wr) &&
      wanted.cap.max_send_sge <= most(limits.max_sge) && wanted.cap.max_recv_sge <= most(limits.max_sge) &&
      wanted.cap.max_inline_data <= device.inline_bytes_max;
  if (!fits || wanted.qp_type != IBV_QPT_RC) {
    errno = EINVAL;
    return nullptr;
  }
  auto pair = std::make_unique<QueuePairObject>();
  pair->context = pd.context;
  pair->pd = &pd;
  pair->send_cq = wanted.send_cq;
  pair->recv_cq = wanted.recv_cq;
  pair->qp_num = next_pair_++;
  pair->qp_type = IBV_QPT_RC;
  pair->state = IBV_QPS_INIT;
  pair->cap = wanted.cap;
  pair->port = port;
  made_.push_back({device.name, pair->cap, object(*wanted.send_cq).vector});
  QueuePairObject* made = pair.get();
  pairs_[made->qp_num] = std::move(pair);
  return made;
}

// Whatever had completed is gone with it, as ibv_destroy_qp(3) leaves it to the device.
void Fabric::remove_queue_pair(QueuePairObject& pair) {
  for (ibv_cq* queue : {pair.send_cq, pair.recv_cq}) {
    std::erase_if(object(*queue).entries, [&](const CompletionEntry& entry) { return entry.pair == &pair; });
  }
  pairs_.erase(pair.qp_num);
}

void Fabric::join(QueuePairObject& one, QueuePairObject& other) {
  one.peer = other.qp_num;
  other.peer = one.qp_num;
  for (QueuePairObject* pair : {&one, &other}) {
    if (pair->state == IBV_QPS_INIT) pair->state = IBV_QPS_RTS;
  }
}

// What was under way completes with an error, whether it is signalled or not.
void Fabric::fail(QueuePairObject& pair) {
  pair.state = IBV_QPS_ERR;
  while (!pair.sends.empty()) {
    const SendRequest request = std::move(pair.sends.front());
    pair.sends.pop_front();
    complete_send(pair, request, IBV_WC_WR_FLUSH_ERR);
  }
  while (!pair.receives.empty()) {
    CompletionEntry entry;
    entry.completion.wr_id = pair.receives.front().id;
    entry.completion.status = IBV_WC_WR_FLUSH_ERR;
    entry.pair = &pair;
    pair.receives.pop_front();
    complete(object(*pair.recv_cq), entry);
  }
}

int Fabric::check(QueuePairObject& pair, const ibv_send_wr& request) {
  if (pair.state != IBV_QPS_RTS && pair.state != IBV_QPS_ERR) return EINVAL;
  if (pair.state == IBV_QPS_ERR && is_iwarp(pair)) return ENOTCONN;
  if (pair.posted - pair.freed >= pair.cap.max_send_wr) return ENOMEM;
  if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > pair.cap.max_send_sge)
    return EINVAL;
  if (request.opcode != IBV_WR_SEND && request.opcode != IBV_WR_RDMA_WRITE &&
      request.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) {
    return EOPNOTSUPP;
  }
  std::uint64_t bytes = 0;
  for (int i = 0; i < request.num_sge; ++i) bytes += request.sg_list[i].length;
  if ((request.send_flags & IBV_SEND_INLINE) != 0 && bytes > pair.cap.max_inline_data) return EINVAL;
  return 0;
}

void Fabric::queue(QueuePairObject& pair, const ibv_send_wr& request) {
  SendRequest made;
  made.id = request.wr_id;
  made.number = ++pair.posted;
  made.opcode = request.opcode;
  made.signalled = (request.send_flags & IBV_SEND_SIGNALED) != 0;
  made.pieces.assign(request.sg_list, request.sg_list + request.num_sge);
  made.due = Clock::now() + conduct_.latency;
  made.is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (made.is_inline) {
    made.inlined.resize(bytes_of(made.pieces));
    copy(made.pieces, reinterpret_cast<std::uint64_t>(made.inlined.data()));
  }
  if (request.opcode != IBV_WR_SEND) {
    made.remote_address = request.wr.rdma.remote_addr;
    made.rkey = request.wr.rdma.rkey;
  }
  (request.opcode == IBV_WR_SEND ? counts_.sends : counts_.writes) += 1;
  counts_.signalled_writes += made.signalled && request.opcode == IBV_WR_RDMA_WRITE ? 1 : 0;
  counts_.inline_sends += made.is_inline ? 1 : 0;
  ++requests_;
  meet_faults(pair, made);
  pair.sends.push_back(std::move(made));
}

void Fabric::meet_faults(QueuePairObject& pair, SendRequest& request) {
  OwnedDevice& owner = owner_of(*pair.context);
  for (const Fault& fault : conduct_.faults) {
    if (fault.at_request != requests_) continue;
    switch (fault.kind) {
      case Fault::Kind::completion:
        request.fails_with = fault.status;
        break;
      case Fault::Kind::poll:
        object(*pair.send_cq).broken = true;
        break;
      case Fault::Kind::port_down:
        raise_locked(owner, IBV_EVENT_PORT_ERR, pair.port);
        break;
      case Fault::Kind::port_up:
        raise_locked(owner, IBV_EVENT_PORT_ACTIVE, pair.port);
        break;
      case Fault::Kind::fatal:
        raise_locked(owner, IBV_EVENT_DEVICE_FATAL, pair.port);
        break;
      case Fault::Kind::addr_change:
        tell_locked(owner, RDMA_CM_EVENT_ADDR_CHANGE);
        break;
      case Fault::Kind::silent:
        pair.peer_is_silent = true;
    }
  }
}

int Fabric::post_send(QueuePairObject& pair, ibv_send_wr* request, ibv_send_wr** refused) {
  ++counts_.posts;
  for (; request != nullptr; request = request->next) {
    if (const int code = check(pair, *request); code != 0) {
      *refused = request;
      carry_out(pair);
      return code;
    }
    queue(pair, *request);
  }
  carry_out(pair);
  return 0;
}

int Fabric::post_receive(QueuePairObject& pair, ibv_recv_wr* request, ibv_recv_wr** refused) {
  for (; request != nullptr; request = request->next) {
    const bool full = pair.receives.size() >= pair.cap.max_recv_wr;
    const bool too_early = pair.state == IBV_QPS_RESET;
    if (full || too_early || request->num_sge != 1) {  // nothing here receives into several pieces
      *refused = request;
      return full ? ENOMEM : EINVAL;
    }
    ReceiveRequest made;
    made.id = request->wr_id;
    made.pieces.assign(request->sg_list, request->sg_list + request->num_sge);
    pair.receives.push_back(std::move(made));
  }
  if (pair.state == IBV_QPS_ERR) fail(pair);
  if (const auto peer = pairs_.find(pair.peer); peer != pairs_.end()) carry_out(*peer->second);
  return 0;
}

void Fabric::carry_out(QueuePairObject& pair) {
  while (!pair.sends.empty()) {
    if (pair.state == IBV_QPS_ERR) return fail(pair);
    SendRequest& next = pair.sends.front();
    if (next.due > Clock::now()) return later(pair, next.due);
    const Outcome outcome = carry_out(pair, next);
    if (outcome == Outcome::wait) return;
    if (outcome == Outcome::failed) continue;
    counts_.bytes += bytes_of(next.pieces);
    const SendRequest done = std::move(next);
    pair.sends.pop_front();
    if (done.signalled) complete_send(pair, done, IBV_WC_SUCCESS);
  }
}

Fabric::Outcome Fabric::carry_out(QueuePairObject& pair, SendRequest& request) {
  const auto fails = [&](ibv_wc_status status) {
    const SendRequest failed = std::move(request);
    pair.sends.pop_front();
    complete_send(pair, failed, status);
    fail(pair);
    return Outcome::failed;
  };
  if (request.fails_with != IBV_WC_SUCCESS) return fails(request.fails_with);
  for (const ibv_sge& piece : request.pieces) {
    if (!request.is_inline && !may_use(pair, piece, false)) return fails(IBV_WC_LOC_PROT_ERR);
  }
  const auto peer = pairs_.find(pair.peer);
  const bool answers = peer != pairs_.end() && takes_from(*peer->second, pair) && !pair.peer_is_silent &&
                       bytes_of(request.pieces) <= conduct_.drops_above;
  if (!answers && is_iwarp(pair)) {
    pair.peer_is_silent = true;  // whatever is behind it is held up, too
    return Outcome::done;
  }
  if (!answers) return wait_for(pair, request, conduct_.retry_time, IBV_WC_RETRY_EXC_ERR);
  return request.opcode == IBV_WR_SEND ? send(pair, request) : write(pair, request);
}

// iWARP: the peer's device refuses a request with the end of the connection (RFC 5040, 5.4).
Fabric::Outcome Fabric::terminate(QueuePairObject& pair) {
  for (QueuePairObject* end : {pairs_.at(pair.peer).get(), &pair}) {
    fail(*end);
    const auto id = std::ranges::find_if(ids_, [&](const IdObject* each) { return each->qp == end; });
    if (id != ids_.end()) event(**id, RDMA_CM_EVENT_DISCONNECTED);
  }
  return Outcome::failed;
}

// The request stays where it is; the thread looks at it again when the device would have given up.
Fabric::Outcome Fabric::wait_for(QueuePairObject& pair, SendRequest& request,
                                 std::chrono::milliseconds patience, ibv_wc_status status) {
  const auto now = Clock::now();
  if (request.waits_since == Clock::time_point{}) {
    request.waits_since = now;
    later(pair, now + patience);
  }
  if (now < request.waits_since + patience) return Outcome::wait;
  request.fails_with = status;
  return carry_out(pair, request);
}

// The peer's device answers an access that it refuses, and its queue pair fails (IBV_EVENT_QP_ACCESS_ERR).
Fabric::Outcome Fabric::write(QueuePairObject& pair, SendRequest& request) {
  QueuePairObject& peer = *pairs_.at(pair.peer);
  const std::uint64_t bytes = bytes_of(request.pieces);
  if (bytes == 0) return Outcome::done;  // needs no address and no key
  const MemoryRegionObject* region = region_by_key(*peer.context, request.rkey);
  const auto begin = region != nullptr ? reinterpret_cast<std::uint64_t>(region->addr) : 0;
  const bool allowed = region != nullptr && region->pd == peer.pd &&
                       (region->access & IBV_ACCESS_REMOTE_WRITE) != 0 && request.remote_address >= begin &&
                       bytes <= region->length && request.remote_address - begin <= region->length - bytes;
  if (!allowed && is_iwarp(pair)) return terminate(pair);
  if (!allowed) {
    fail(peer);
    request.fails_with = IBV_WC_REM_ACCESS_ERR;
    return carry_out(pair, request);
  }
  if (request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && peer.receives.empty())
    return wait_for(pair, request, conduct_.not_ready_time, IBV_WC_RNR_RETRY_EXC_ERR);
  copy(pieces_of(request), request.remote_address);
  if (request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) tell_of_write(peer, static_cast<std::uint32_t>(bytes));
  return Outcome::done;
}

// The write takes a receive, into which nothing is put.
void Fabric::tell_of_write(QueuePairObject& peer, std::uint32_t bytes) {
  CompletionEntry entry;
  entry.pair = &peer;
  entry.completion.wr_id = peer.receives.front().id;
  entry.completion.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  entry.completion.wc_flags = IBV_WC_WITH_IMM;
  entry.completion.qp_num = peer.qp_num;
  entry.completion.byte_len = bytes;
  peer.receives.pop_front();
  complete(object(*peer.recv_cq), entry);
}

Fabric::Outcome Fabric::send(QueuePairObject& pair, SendRequest& request) {
  QueuePairObject& peer = *pairs_.at(pair.peer);
  if (peer.receives.empty() && is_iwarp(pair)) return terminate(pair);
  if (peer.receives.empty()) {
    return wait_for(pair, request, conduct_.not_ready_time, IBV_WC_RNR_RETRY_EXC_ERR);
  }
  const ReceiveRequest receive = std::move(peer.receives.front());
  peer.receives.pop_front();
  const std::uint64_t bytes = bytes_of(request.pieces);
  CompletionEntry entry;
  entry.pair = &peer;
  entry.completion.wr_id = receive.id;
  entry.completion.opcode = IBV_WC_RECV;
  entry.completion.qp_num = peer.qp_num;
  entry.completion.byte_len = static_cast<std::uint32_t>(bytes);
  if (bytes > bytes_of(receive.pieces)) {
    entry.completion.status = IBV_WC_LOC_LEN_ERR;
    request.fails_with = IBV_WC_REM_INV_REQ_ERR;
  } else if (!std::ranges::all_of(receive.pieces,
                                  [&](const auto& piece) { return may_use(peer, piece, true); })) {
    entry.completion.status = IBV_WC_LOC_PROT_ERR;
    request.fails_with = IBV_WC_REM_OP_ERR;
  }
  const bool taken = request.fails_with == IBV_WC_SUCCESS;
  if (taken && bytes != 0) copy(pieces_of(request), receive.pieces.front().addr);
  complete(object(*peer.recv_cq), entry);
  if (taken) return Outcome::done;
  if (is_iwarp(pair)) return terminate(pair);
  fail(peer);
  return carry_out(pair, request);
}

MemoryRegionObject* Fabric::region_by_key(const ibv_context& context, std::uint32_t key) {
  const auto found = regions_.find(key);
  return found != regions_.end() && found->second->context->device == context.device ? found->second.get()
                                                                                     : nullptr;
}

bool Fabric::may_use(const QueuePairObject& pair, const ibv_sge& piece, bool writes) {
  if (piece.length == 0) return true;
  const MemoryRegionObject* region = region_by_key(*pair.context, piece.lkey);
  if (region == nullptr || region->pd != pair.pd) return false;
  if (writes && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(region->addr);
  return piece.addr >= begin && piece.addr - begin + piece.length <= region->length;
}

void Fabric::complete_send(QueuePairObject& pair, const SendRequest& request, ibv_wc_status status) {
  CompletionEntry entry;
  entry.completion.wr_id = request.id;
  entry.completion.status = status;
  entry.completion.opcode = request.opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
  entry.completion.qp_num = pair.qp_num;
  entry.pair = &pair;
  entry.frees = request.number;
  complete(object(*pair.send_cq), entry);
}

void Fabric::complete(CompletionQueueObject& queue, const CompletionEntry& entry) {
  if (queue.entries.size() >= static_cast<std::size_t>(queue.cqe)) {
    complain("a completion queue of " + std::to_string(queue.cqe) + " entries ran over");
    queue.broken = true;
    return;
  }
  queue.entries.push_back(entry);
  if (!queue.armed || queue.channel == nullptr) return;
  queue.armed = false;
  ++counts_.bells;
  auto& channel = static_cast<ChannelObject&>(*queue.channel);
  channel.events.push_back(&queue);
  channel.bell.ring();
}

int Fabric::poll(CompletionQueueObject& queue, int most, ibv_wc* done) {
  ++counts_.polls;
  if (queue.broken) return -1;
  int count = 0;
  for (; count < most && !queue.entries.empty(); ++count) {
    const CompletionEntry entry = queue.entries.front();
    queue.entries.pop_front();
    done[count] = entry.completion;
    entry.pair->freed = std::max(entry.pair->freed, entry.frees);
  }
  counts_.empty_polls += count == 0 ? 1 : 0;
  return count;
}

int Fabric::arm(CompletionQueueObject& queue) {
  queue.armed = true;
  return 0;
}

}  // namespace rdcp::made_up
