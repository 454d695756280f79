// Attempts at one connection over a rail, of the side that connects and of the side that listens, driven by
// whoever polls their descriptors. For use within net only.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/ring.h"
#include "net/rdma/rdma_connect_thread.h"
#include "net/rdma/rdma_connection.h"

namespace rdcp::net {

// Attempts at one proven connection over a rail.
class RdmaConnectAttempt {
 public:
  RdmaConnectAttempt(const RdmaCall& call, const Rail& rail, std::size_t rail_index,
                     std::uint16_t stream_index);
  ~RdmaConnectAttempt() { forget_offer(); }
  RdmaConnectAttempt(const RdmaConnectAttempt&) = delete;
  RdmaConnectAttempt& operator=(const RdmaConnectAttempt&) = delete;

  std::size_t rail_index() const { return rail_index_; }
  std::uint16_t stream_index() const { return stream_index_; }
  bool proven() const { return state_ == State::proven; }
  // True if it is under way, and no answer of the peer has come for this long.
  bool silent_for(io::Clock::duration limit) const {
    return under_way() && !refused_ && io::Clock::now() - started_ >= limit;
  }
  // Says why it was given up; empty as long as it was not.
  const std::string& cause() const { return cause_; }
  RdmaConnectionPtr take() { return std::move(connection_); }

  void append_polls(std::vector<pollfd>& polls) const;
  // Goes on as far as it can.
  void step();

 private:
  enum class State : unsigned char {
    waiting,
    resolving_address,
    resolving_route,
    connecting,
    challenged,
    proven
  };

  void begin();
  void begin_by_hand();
  void take_answers();
  void take_answer(const PairAnswer& answer);
  void take_end(const io::Error& error);
  void forget_offer();
  io::Result<void> mark() const;
  void take_event(const CmEvent& event);
  void take_message(const RdmaQueue::Completion& completion);
  void connect();
  void take_connected();
  void take_connect_error(int code);
  void hello(bool takes_padding);
  void take_failure(const RdmaQueue::Completion& completion);
  void take_challenge(std::span<const std::byte, kChallengeBytes> challenge, std::uint32_t index);
  bool lost_challenge() const;
  bool lost_hello() const;
  void try_again(const io::Error& error, io::Clock::duration limit);
  void fail(const io::Error& error);
  void fail_if_overdue();
  bool under_way() const { return !proven() && cause_.empty(); }
  bool is_iwarp() const { return rail_.connecting.link == LinkKind::iwarp; }
  std::string peer() const;

  const RdmaCall& call_;
  Rail rail_;
  std::size_t rail_index_;
  std::uint16_t stream_index_;
  Connector connector_;
  io::Clock::time_point started_ = io::Clock::now();
  io::Clock::time_point attempt_at_ = started_;  // when the attempt began or, while waiting, will begin
  State state_ = State::waiting;
  bool refused_ = false;  // so the peer is there
  std::string cause_;
  std::uint32_t offer_ = 0;              // its number, while it may be answered
  io::Clock::time_point greeted_;        // when the hello was sent
  io::Clock::time_point hello_arrived_;  // when a hello that was padded was acknowledged; zero before
  EventChannel channel_;                 // these two are used until there is a connection
  CmId id_;
  RdmaConnectionPtr connection_;
  std::optional<RdmaConnectThread> connecting_;  // iWARP: has the connection until it is connected
};

// A connection whose peer has not yet proven itself.
class PendingRdma {
 public:
  // takes_padding: the peer, of its messages' first. offer: the number of the one that it has come by, 0 with
  // CM.
  PendingRdma(RdmaConnectionPtr connection, const HandshakeTerms& terms, bool takes_padding,
              std::uint32_t offer)
      : connection_(std::move(connection)),
        deadline_(io::Clock::now() + terms.time_limit),
        listener_(terms),
        takes_padding_(takes_padding),
        offer_(offer) {}

  io::Clock::time_point deadline() const { return deadline_; }
  std::uint16_t stream_index() const { return listener_.stream_index(); }
  std::string peer() const { return connection_->peer_text(); }
  std::uint32_t offer() const { return offer_; }
  RdmaConnectionPtr take() { return std::move(connection_); }
  void append_polls(std::vector<pollfd>& polls) const {
    polls.push_back({connection_->events_fd(), POLLIN, 0});
    polls.push_back({connection_->queue().fd(), POLLIN, 0});
  }

  // Goes as far as the messages that have arrived allow. Returns true if the peer is proven. After an error
  // the connection must be dropped.
  io::Result<bool> step(std::uint16_t stream_count);

 private:
  io::Result<void> take_events();
  io::Result<bool> take_message(const RdmaQueue::Completion& completion, std::uint16_t stream_count);
  io::Result<void> answer_hello(std::span<const std::byte> message, std::uint16_t stream_count);

  RdmaConnectionPtr connection_;
  io::Clock::time_point deadline_;
  Listener listener_;
  const bool takes_padding_;
  const std::uint32_t offer_;
  bool challenged_ = false;
};

}  // namespace rdcp::net
