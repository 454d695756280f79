// How queue pairs are joined without librdmacm.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/verbs/fabric.h"

namespace rdcp::made_up {
namespace {

// Members of one partition hear each other, unless both are limited ones.
bool share_partition(std::uint16_t one, std::uint16_t other) {
  return ((one ^ other) & 0x7fff) == 0 && ((one | other) & 0x8000) != 0;
}

}  // namespace

std::uint16_t Fabric::lid_of(const OwnedDevice& device, unsigned port) const {
  const auto found = std::ranges::find_if(devices_, [&](const auto& each) { return each.get() == &device; });
  return static_cast<std::uint16_t>(16 * (found - devices_.begin()) + port);
}

// True if an address leads to the port of the peer's queue pair: by GID with Ethernet, else by LID.
bool Fabric::leads_to(const QueuePairObject& pair, const ibv_qp_attr& wanted) const {
  const auto peer = pairs_.find(wanted.dest_qp_num);
  if (peer == pairs_.end()) return true;  // it may have gone meanwhile
  const auto owner = std::ranges::find_if(
      contexts_, [&](const auto& each) { return &each->verbs.context == peer->second->context; });
  const OwnedDevice& there = *(*owner)->owner;
  const unsigned port = peer->second->port;
  if (port == 0) return false;
  if (there.description.ports.at(port - 1).link_layer == IBV_LINK_LAYER_INFINIBAND) {
    return wanted.ah_attr.is_global == 0 && wanted.ah_attr.dlid == lid_of(there, port);
  }
  const auto gids = gids_of(there.description, port - 1);
  const ibv_gid& meant = wanted.ah_attr.grh.dgid;
  return wanted.ah_attr.is_global == 1 && pair.context->device->transport_type == IBV_TRANSPORT_IB &&
         std::ranges::any_of(
             gids, [&](const ibv_gid& gid) { return std::memcmp(gid.raw, meant.raw, sizeof gid.raw) == 0; });
}

// As devices have it, each step needs all of its attributes (InfiniBand Architecture Specification, table
// 92), and what is posted before INIT is refused.
int Fabric::modify(QueuePairObject& pair, const ibv_qp_attr& wanted, int mask) {
  ibv_qp_attr& own = pair.brought_up;
  if (mask == IBV_QP_STATE && wanted.qp_state == IBV_QPS_ERR) {
    fail(pair);
    return 0;
  }
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (mask == kInit && wanted.qp_state == IBV_QPS_INIT && pair.state == IBV_QPS_RESET) {
    const std::vector<Port>& ports = owner_of(*pair.context).description.ports;
    if (wanted.port_num == 0 || wanted.port_num > ports.size()) return EINVAL;
    const std::vector<std::uint16_t>& partitions = ports[wanted.port_num - 1u].partitions;
    if (wanted.pkey_index >= partitions.size()) return EINVAL;
    pair.port = wanted.port_num;
    pair.partition = partitions[wanted.pkey_index];
    pair.state = IBV_QPS_INIT;
    own.qp_access_flags = wanted.qp_access_flags;
    return 0;
  }
  constexpr int kReady = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (mask == kReady && wanted.qp_state == IBV_QPS_RTR && pair.state == IBV_QPS_INIT) {
    if (!leads_to(pair, wanted) || wanted.rq_psn > 0xffffff) return EINVAL;
    const unsigned access = own.qp_access_flags;
    own = wanted;
    own.qp_access_flags = access;
    pair.peer = wanted.dest_qp_num;
    pair.state = IBV_QPS_RTR;
    return 0;
  }
  constexpr int kSending = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  if (mask != kSending || wanted.qp_state != IBV_QPS_RTS || pair.state != IBV_QPS_RTR) return EINVAL;
  own.timeout = wanted.timeout;
  own.retry_cnt = wanted.retry_cnt;
  own.rnr_retry = wanted.rnr_retry;
  own.sq_psn = wanted.sq_psn;
  pair.state = IBV_QPS_RTS;
  brought_up_.push_back(own);
  return 0;
}

bool Fabric::takes_from(const QueuePairObject& peer, const QueuePairObject& pair) const {
  const bool ready = peer.state == IBV_QPS_RTR || peer.state == IBV_QPS_RTS;
  return ready && share_partition(peer.partition, pair.partition) && peer.peer == pair.qp_num &&
         peer.brought_up.rq_psn == pair.brought_up.sq_psn;
}

}  // namespace rdcp::made_up
