// Two hosts join a queue pair of each without librdmacm by what they tell each other here, through whoever
// both of them trust to relay it. Each end moves its queue pair from INIT to RTR and RTS by itself
// (ibv_modify_qp(3)). This is the way where a host has no /dev/infiniband/rdma_cm, or a port no IP address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "io/descriptors.h"
#include "io/range.h"
#include "io/words.h"
#include "net/rails/rdma_port.h"

namespace rdcp::net {

using GidBytes = std::array<std::byte, 16>;

// One end of a pair. Numbers are as InfiniBand has them; queue pairs 0 and 1 are its own.
struct PairEnd {
  std::uint16_t lid = 0;  // 0 with RoCE
  GidBytes gid{};
  bool routable = false;  // RoCE: the GID is of version 2, whose packets are UDP
  io::Within<std::uint32_t, 2, 0xffffff> queue_pair;
  io::Within<std::uint32_t, 0, 0xffffff> first_packet;  // the number of the first packet that it sends
  io::Within<std::uint8_t, 1, 5> mtu;                   // enum ibv_mtu: the port's
  io::Within<std::uint8_t, 0, 15> service_level;        // InfiniBand: that it sends with; 0: with the peer's
  auto fields() { return std::tie(lid, gid, routable, queue_pair, first_packet, mtu, service_level); }
  bool operator==(const PairEnd&) const = default;
};
// Says why nobody can send to this end over such a link; empty if it looks right.
std::string fault_of(const PairEnd& end, LinkKind link);

// The side that connects asks for a pair.
struct PairOffer {
  std::uint32_t number = 0;  // of the attempt; the answer bears it
  std::uint16_t stream = 0;  // what the hello will say as well
  LinkKind link = LinkKind::roce;
  std::string device = {};  // these three name a port of the side that listens, as that side has told it
  std::uint8_t port = 1;
  std::string gid = {};
  PairEnd end = {};  // of the side that connects
  auto fields() { return std::tie(number, stream, link, device, port, gid, end); }
};

// The side that listens has joined its queue pair with that one, or says why not. After that it may once more
// say why not: it has closed the connection before the key was proven.
struct PairAnswer {
  std::uint32_t number = 0;
  PairEnd end = {};
  io::Words refusal = {};  // empty: none
  auto fields() { return std::tie(number, end, refusal); }
};

// The letter box of one side of a job. Any thread may call all of it. What comes in is bounded: an offer too
// many is turned down, and answers are kept for those who wait for one.
class PairExchange {
 public:
  static constexpr std::size_t kOffersMax = 64;

  // These send to the other side; any thread calls them.
  struct Ways {
    std::function<void(const PairOffer&)> offer;
    std::function<void(const PairAnswer&)> answer;
  };
  explicit PairExchange(Ways ways) : ways_(std::move(ways)), bell_(io::Event::create()) {}

  // The side that connects: sends an offer with a number of its own, which is returned.
  std::uint32_t offer(PairOffer offer);
  // Returns an answer to it that has come, once.
  std::optional<PairAnswer> answer_to(std::uint32_t number);
  // Nobody waits for answers to it any more.
  void forget(std::uint32_t number);

  // The side that listens.
  std::optional<PairOffer> next_offer();
  void answer(const PairAnswer& answer) { ways_.answer(answer); }

  // These take what the other side has sent.
  void take(PairOffer offer);
  void take(PairAnswer answer);

  // Readable after something has come, until quiet(); -1 if there is none (look now and then).
  int fd() const { return bell_ ? bell_->fd() : -1; }
  void quiet();

 private:
  void ring();

  const Ways ways_;
  io::Result<io::Event> bell_;
  std::mutex mutex_;
  std::uint32_t last_number_ = 0;
  std::map<std::uint32_t, std::deque<PairAnswer>> awaited_;
  std::deque<PairOffer> offers_;
};

}  // namespace rdcp::net
