// A target's place in a chain of targets, or in a tree of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/result.h"
#include "io/thread.h"
#include "tree/forward/forwarder.h"
#include "tree/messages/chain.h"
#include "tree/messages/knock.h"
#include "tree/streams/stream_setup.h"
#include "tree/target/target.h"

namespace rdcp::tree {

// Life: join(), pass_on() for each next target, start(), finish(). Any thread may call stop() at any time,
// the others are for one.
class ChainLink {
 public:
  // place: outlives this. lost: is told, by any thread, that nothing can be passed on any more to one of the
  // next targets; that does not end the job.
  // offer: sends an offer of a queue pair to a next target; likewise.
  ChainLink(const StreamPlace& place, std::function<void(const BranchLost&)> lost,
            std::function<void(const PairOffered&)> offer)
      : place_(place), lost_(std::move(lost)), offer_(std::move(offer)) {}
  ~ChainLink();

  void join(const JoinChain& chain) { chain_ = chain; }
  bool is_member() const { return chain_.has_value(); }
  bool may_pass_on() const { return chain_ && chain_->passes_on; }
  // Takes an order to pass on what comes. settings: of the target's job. Errors: as StreamSetup::open().
  io::Result<void> pass_on(const PassOn& order, const CopySettings& settings);
  // Returns the orders that were taken; a last target has none.
  const std::vector<PassOn>& orders() const { return orders_; }
  // Returns what takes the chunks that are passed on, one for each order.
  std::vector<NextTargets*> nexts() const;

  // To be called before start(): how long a message and its answer take to a next target.
  void set_round_trip(std::chrono::microseconds time) { hints_.round_trip = time; }
  // To be called before start(): which class the packets to the next targets are to carry.
  void set_traffic_class(std::optional<std::uint8_t> traffic_class) { hints_.traffic_class = traffic_class; }
  // To be called before start(): see StreamSetup.
  void leave_placement() { leaves_placement_ = true; }
  // Connects to the next targets, and sends them what comes, in a thread for each. Error: there is no thread.
  io::Result<void> start(const std::string& congestion);
  // To be called once nothing comes any more, with how that ended: the next targets are told the same. Waits
  // for them unless it was lost.
  void finish(SourceEnd end);
  // Ends it; nobody is told that nothing is passed on any more.
  void stop();
  // Takes an answer to such an offer. Returns false if there is no such next target.
  bool hear(const PairAnswered& answered);
  // After finish(): what went wrong on the way to the connections.
  std::vector<io::Words> notes() const;

 private:
  // Leads to one next target.
  struct Branch {
    explicit Branch(const StreamPlace& place) : setup(place) {}
    StreamSetup setup;
    std::unique_ptr<Forwarder> forwarder;
    io::Thread thread;
  };

  void run(std::size_t branch, const std::string& congestion);
  void lose(std::size_t branch, const io::Words& why);
  void join_threads();

  const StreamPlace& place_;
  const std::function<void(const BranchLost&)> lost_;
  const std::function<void(const PairOffered&)> offer_;
  std::optional<JoinChain> chain_;
  StreamHints hints_;
  bool leaves_placement_ = false;
  std::vector<PassOn> orders_;
  std::vector<std::unique_ptr<Branch>> branches_;  // one for each order
  std::atomic<bool> stopped_{false};
};

}  // namespace rdcp::tree
