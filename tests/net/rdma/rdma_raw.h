// An end of an RDMA connection that a test plays by hand.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "net/rdma/rdma_connection.h"
#include "net/rdma/rdma_stream.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {

class RawEnd {
 public:
  explicit RawEnd(RdmaConnectionPtr connection) : connection_(std::move(connection)) {
    const std::span<std::byte> all = memory_.all();
    region_.reset(
        ibv_reg_mr(&queue().pd(), all.data(), all.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    EXPECT_TRUE(region_);
  }
  ~RawEnd() {
    if (connection_) queue().destroy_queue_pair();
  }
  RawEnd(RawEnd&&) = default;

  RdmaQueue& queue() { return connection_->queue(); }
  std::span<std::byte> memory() { return memory_.all(); }
  std::uint32_t rkey() const { return region_->rkey; }
  void disconnect() { connection_->disconnect(); }

  bool send(std::span<const std::byte> message) { return queue().send(message).ok(); }
  // Payload: the first bytes of memory().
  bool write(std::size_t bytes, std::uint64_t address, std::uint32_t rkey,
             std::span<const std::byte> message) {
    const RdmaQueue::Write write{memory().first(bytes), region_->lkey, address, rkey};
    return queue().write_and_send(write, message).ok();
  }
  // Sends this, which may be longer than any message.
  bool send_long(std::span<const std::byte> message) {
    std::ranges::copy(message, memory().begin());
    return send_long(message.size());
  }
  // Sends so many bytes, more than any message has.
  bool send_long(std::size_t bytes) { return post(IBV_WR_SEND, bytes, 0, 0); }
  // Writes the first bytes of memory(), with immediate data.
  bool write_with_immediate(std::size_t bytes, std::uint64_t address, std::uint32_t rkey) {
    return post(IBV_WR_RDMA_WRITE_WITH_IMM, bytes, address, rkey);
  }

  // The next message; nothing when the connection failed or nothing comes for as long as any test should
  // take.
  std::optional<std::vector<std::byte>> receive(bool repost = true) {
    while (const auto completion = wait()) {
      if (completion->status != IBV_WC_SUCCESS) return std::nullopt;
      if (completion->kind != RdmaQueue::Kind::received) continue;
      const auto message = queue().received(*completion);
      std::vector<std::byte> copy(message.begin(), message.end());
      EXPECT_TRUE(!repost || queue().repost(completion->index));
      return copy;
    }
    return std::nullopt;
  }
  // How the first request that fails does.
  std::optional<ibv_wc_status> failure() {
    while (const auto completion = wait()) {
      if (completion->status != IBV_WC_SUCCESS) return completion->status;
    }
    return std::nullopt;
  }
  // Receives the target's first message.
  SlotRegion receive_region(std::uint32_t grants) {
    const auto message = receive();
    EXPECT_TRUE(message);
    const auto region = decode_region(message.value_or(std::vector<std::byte>{}));
    EXPECT_TRUE(region);
    for (std::uint32_t i = 0; i < grants; ++i) EXPECT_TRUE(receive());
    return region ? *region : SlotRegion{};
  }

 private:
  bool post(ibv_wr_opcode opcode, std::size_t bytes, std::uint64_t address, std::uint32_t rkey) {
    ibv_sge piece{reinterpret_cast<std::uint64_t>(memory().data()), static_cast<std::uint32_t>(bytes),
                  region_->lkey};
    ibv_send_wr request{};
    request.wr_id = std::uint64_t{static_cast<std::uint8_t>(RdmaQueue::Kind::written)} << 32;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = opcode;
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    ibv_send_wr* refused = nullptr;
    return ibv_post_send(connection_->id().qp, &request, &refused) == 0;
  }
  std::optional<RdmaQueue::Completion> wait() {
    const auto until = io::Clock::now() + std::chrono::seconds(20);
    while (io::Clock::now() < until) {
      queue().take_bell();
      if (const auto completion = queue().next()) return completion;
      const auto event = next_cm_event(connection_->channel());
      if (event && event->type == RDMA_CM_EVENT_DISCONNECTED) disconnect();
      std::array<pollfd, 2> waits{{{queue().fd(), POLLIN, 0}, {connection_->channel().fd, POLLIN, 0}}};
      ::poll(waits.data(), waits.size(), 100);
    }
    return std::nullopt;
  }

  RdmaConnectionPtr connection_;
  io::Arena memory_ = io::Arena::create(4, 65536).value();
  MemoryRegion region_;
};

// Waits for the next event; true when it is the one that is hoped for.
inline bool expect_event(rdma_event_channel& channel, rdma_cm_event_type type) {
  const auto until = io::Clock::now() + std::chrono::seconds(20);
  while (io::Clock::now() < until) {
    if (const auto event = next_cm_event(channel)) return event->type == type;
    pollfd wait{channel.fd, POLLIN, 0};
    ::poll(&wait, 1, 100);
  }
  return false;
}

// What versions say with a connect request and its answer: this one, and those before it.
enum class SaidByCm { takes_padding, nothing };
inline rdma_conn_param raw_parameters(SaidByCm said) {
  static const auto word = encode(CmWord{.takes_padding = true});
  rdma_conn_param parameters = connection_parameters(word);
  if (said == SaidByCm::nothing) parameters.private_data_len = 0;
  if (said == SaidByCm::nothing) parameters.private_data = nullptr;
  return parameters;
}

// Connects without a word of the handshake; nothing when it is refused.
inline std::optional<RawEnd> raw_connection(const RdmaPort& port, const RdmaCall& call,
                                            SaidByCm said = SaidByCm::nothing) {
  auto channel = open_event_channel();
  rdma_cm_id* raw = nullptr;
  if (!channel || rdma_create_id(channel->get(), &raw, nullptr, RDMA_PS_TCP) != 0) return std::nullopt;
  CmId id(raw);
  auto from = to_socket_address({port.host, 0});
  auto to = to_socket_address({port.host, port.listen_port});
  if (!from || !to || rdma_resolve_addr(raw, from->get(), to->get(), 2000) != 0) return std::nullopt;
  if (!expect_event(**channel, RDMA_CM_EVENT_ADDR_RESOLVED)) return std::nullopt;
  if (rdma_resolve_route(raw, 2000) != 0) return std::nullopt;
  if (!expect_event(**channel, RDMA_CM_EVENT_ROUTE_RESOLVED)) return std::nullopt;
  auto connection = RdmaConnection::create(std::move(*channel), std::move(id), port, call, 0);
  if (!connection) return std::nullopt;
  rdma_conn_param parameters = raw_parameters(said);
  if (rdma_connect(raw, &parameters) != 0) return std::nullopt;
  if (!expect_event((*connection)->channel(), RDMA_CM_EVENT_ESTABLISHED)) return std::nullopt;
  return RawEnd(std::move(*connection));
}

}  // namespace rdcp::net
