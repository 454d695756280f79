// Pairs the RDMA ports of two hosts, and decides which pairs carry the streams of a job, and how many each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "net/rails/rdma_port.h"

namespace rdcp::net {

// A pair of ports that can reach each other: the connecting side's and the listening side's.
struct Rail {
  RdmaPort connecting;
  RdmaPort listening;  // a link-local host has the %scope of the connecting side, where it is used
  auto fields() { return std::tie(connecting, listening); }
  // The slower end sets the pace.
  std::uint32_t megabits() const { return std::min(connecting.megabits, listening.megabits); }
};

// How many pairs are kept: of one connecting port, and in all. Eight ports that are on eight switches may
// need eight tries each to find out who is on which.
inline constexpr std::size_t kCandidatesOfPort = 16;
inline constexpr std::size_t kCandidatesMax = 256;

struct RailChoice {
  std::vector<Rail> candidates;  // the best first; a port is in many of them (see RailPlan)
  std::string none_because;
  bool via_is_nowhere = false;  // that is why: both hosts have ports, and via names none of them
};

// Returns the pairs of ports of the same kind of link (InfiniBand with InfiniBand, and so on) and address
// family, the best first:
//  1. the fastest;
//  2. of these, those in one subnet (same network under both prefixes), then those that a router may join
//     (RoCE v2 and iWARP can be routed), then IPv6 link-local addresses;
//  3. the longest common prefix, so that 10.0.3.1/31 is with 10.0.3.3/31, where 3 is the rail's number;
//  4. the fewest bits that differ, so that 10.1.3.1/31 is with 10.2.3.1/31, where 1 and 2 are the hosts';
//  5. the order of the ports, so that a host that copies to itself pairs each port with itself.
// Ports without a host go with such only, by the addresses in their GIDs, where librdmacm could not join
// them; those of InfiniBand only within a subnet. Link-local addresses go with link-local ones only, and only
// if each side has one such port. If via is not empty, one side of each pair must have that device, interface
// or address. At most 64 addresses of each side are looked at, because the other host may tell any number.
RailChoice choose_rails(const RdmaPorts& connecting, const RdmaPorts& listening, const std::string& via);

// Holds what is found out about pairs of ports while they are connected, and says which to use. It connects
// nothing itself. A fabric need not join every port with every other: on a rail-only one a port reaches the
// ports on its own switch, and no address says which those are. So the pairs are tried, the best first, and a
// port whose pair does not answer gets its next one. One thread uses this.
class RailPlan {
 public:
  enum class State : unsigned char {
    untried,
    tried,  // it is being connected
    slow,   // the same, and it has not answered for so long that its ports may be in another pair
    works,
    lost,
  };

  // candidates: the best first, as choose_rails() returns them. Those beyond kCandidatesMax are left out.
  explicit RailPlan(const std::vector<Rail>& candidates);

  const std::vector<Rail>& candidates() const { return candidates_; }
  State state(std::size_t index) const { return pairs_[index].state; }
  // Says why it is lost; empty if it is not.
  const std::string& cause(std::size_t index) const { return pairs_[index].cause; }
  bool any_works() const;
  // True if none works, and none that may still be tried is left.
  bool all_failed() const;
  bool shares_port(std::size_t one, std::size_t other) const;

  // Returns the rails to use as things stand, by index: those that work or are tried, then untried ones, the
  // best first. No port is in two of them, and none is slower than a quarter of the fastest that is not lost,
  // because its streams would hold few of the chunks and memory of all of them.
  std::vector<std::size_t> rails() const;
  // Takes pairs below the quarter into account as well, because none of the others has answered.
  void take_slower_ones() { slower_ones_ = true; }
  // Leaves out what is untried from now on.
  void try_no_more() { may_try_ = false; }

  // Returns the rail of one more stream: first one that nobody has tried, then the one with the fewest
  // streams for its speed. Returns nothing while that one is still being connected.
  std::optional<std::size_t> next() const;
  // Returns a rail to try for a stream whose own one is slow: rather of the same connecting port. Returns
  // nothing if there is none that is untried.
  std::optional<std::size_t> instead_of(std::size_t slow) const;

  // A stream is being connected over it.
  void add_stream(std::size_t index);
  // A stream that was being connected over it is not.
  void remove_stream(std::size_t index) { --pairs_[index].streams; }
  void set_slow(std::size_t index);
  void set_works(std::size_t index) { pairs_[index].state = State::works; }
  // Does nothing to one that is lost already.
  void set_lost(std::size_t index, const std::string& cause);

 private:
  struct Pair {
    State state = State::untried;
    unsigned streams = 0;
    std::string cause;
  };
  std::uint32_t megabits_min() const;

  std::vector<Rail> candidates_;
  std::vector<Pair> pairs_;  // of each candidate
  bool slower_ones_ = false;
  bool may_try_ = true;
};

// Returns the rails that would be used if all candidates worked, the fastest first.
std::vector<Rail> best_rails(const std::vector<Rail>& candidates);

}  // namespace rdcp::net
