// The streams of an agent's job: its own, and those to the next targets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tree/agent/chain_link.h"
#include "tree/streams/stream_setup.h"

namespace rdcp::tree {

class JobStreams {
 public:
  // Tells the coordinator; any thread calls it.
  struct Tell {
    std::function<void(const BranchLost&)> lost;  // see ChainLink
    std::function<void(const PairOffered&)> offered;
    std::function<void(const PairAnswered&)> answered;
  };
  JobStreams(const StreamPlace& place, Tell tell)
      : place_(place), tell_(std::move(tell)), chain_(place, tell_.lost, tell_.offered) {
    begin_anew();
  }

  // Gives up what there is for another job.
  void begin_anew() {
    own_ = std::make_unique<StreamSetup>(place_);
    own_->hints().traffic_class = traffic_class_;
    own_->exchange_pairs({.offer =
                              [this](const net::PairOffer& offer) {
                                tell_.offered({0, offer});
                              },
                          .answer =
                              [this](const net::PairAnswer& answer) {
                                tell_.answered({0, answer});
                              }});
  }
  StreamSetup& own() { return *own_; }
  ChainLink& chain() { return chain_; }
  // To be called before the job begins.
  void hear_of_path(const PathTold& told) {
    const std::chrono::microseconds round_trip(told.microseconds);
    own_->hints().round_trip = round_trip;
    own_->hints().streams = told.streams;
    chain_.set_round_trip(round_trip);
  }
  // The same: which class the packets of all streams are to carry, those of later jobs included.
  void set_traffic_class(std::optional<std::uint8_t> traffic_class) {
    traffic_class_ = traffic_class;
    own_->hints().traffic_class = traffic_class;
    chain_.set_traffic_class(traffic_class);
  }
  // To be called before the job begins: all threads, memory and completion queues stay where they are.
  void leave_placement() {
    own_->leave_placement();
    chain_.leave_placement();
  }
  // Take what the other side of a link says. Return false if there is no such link.
  bool hear(const PairOffered& offered) { return own_->hear(offered.offer), offered.link == 0; }
  bool hear(const PairAnswered& answered) {
    if (answered.link != 0) return chain_.hear(answered);
    return own_->hear(answered.answer), true;
  }
  // Returns the TCP ports that this agent connects to from now on, or nothing if that is not restricted: RDMA
  // may be used, or it never could connect.
  std::optional<std::vector<std::uint16_t>> connects_to(const Begin& begin) const;
  // Returns what went wrong on the way to the connections, in words.
  std::vector<io::Words> notes() const;
  // Any thread may call this.
  void stop();

 private:
  const StreamPlace& place_;
  const Tell tell_;
  std::optional<std::uint8_t> traffic_class_;
  std::unique_ptr<StreamSetup> own_;
  ChainLink chain_;
};

}  // namespace rdcp::tree
