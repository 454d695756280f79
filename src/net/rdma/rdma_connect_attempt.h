// An attempt at one connection over a rail, driven by whoever polls its descriptors. For use within net only.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/ring.h"
#include "net/rdma/rdma_connection.h"

namespace rdcp::net {

// Attempts at one proven connection over a rail.
class RdmaConnectAttempt {
 public:
  RdmaConnectAttempt(const RdmaCall& call, const Rail& rail, std::size_t rail_index,
                     std::uint16_t stream_index);

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
  io::Result<void> mark() const;
  void take_event(const CmEvent& event);
  void take_message(const RdmaQueue::Completion& completion);
  void connect();
  void hello(bool takes_padding);
  void take_failure(const RdmaQueue::Completion& completion);
  void take_challenge(std::span<const std::byte, kChallengeBytes> challenge, std::uint32_t index);
  bool lost_challenge() const;
  bool lost_hello() const;
  void try_again(const io::Error& error, io::Clock::duration limit);
  void fail(const io::Error& error);
  void fail_if_overdue();
  bool under_way() const { return !proven() && cause_.empty(); }
  std::string peer() const { return Address{rail_.listening.host, rail_.listening.listen_port}.text(); }

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
  io::Clock::time_point greeted_;        // when the hello was sent
  io::Clock::time_point hello_arrived_;  // when a hello that was padded was acknowledged; zero before
  EventChannel channel_;                 // these two are used until there is a connection
  CmId id_;
  RdmaConnectionPtr connection_;
};

}  // namespace rdcp::net
