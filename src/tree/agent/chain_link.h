// A target's place in a chain of targets.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/result.h"
#include "io/thread.h"
#include "tree/forward/forwarder.h"
#include "tree/messages/chain.h"
#include "tree/streams/stream_setup.h"

namespace rdcp::tree {

// Life: join(), pass_on(), start(), finish(). Any thread may call stop() at any time, the others are for one.
class ChainLink {
 public:
  // place: outlives this. lost: is told, by any thread, that nothing can be passed on any more; that does not
  // end the job.
  ChainLink(const StreamPlace& place, std::function<void(const NextLost&)> lost)
      : place_(place), lost_(std::move(lost)) {}
  ~ChainLink();

  void join(const JoinChain& chain) { chain_ = chain; }
  bool is_member() const { return chain_.has_value(); }
  bool may_pass_on() const { return chain_ && chain_->passes_on; }
  // Takes the order to pass on what comes. settings: of the target's job. Errors: as StreamSetup::open().
  io::Result<void> pass_on(const PassOn& order, const CopySettings& settings);
  // Returns the order, or nothing for the last target.
  const std::optional<PassOn>& order() const { return order_; }
  // Returns what takes the chunks that are passed on; null for the last target.
  NextTargets* next() const { return forwarder_.get(); }

  // Connects to the next target, and sends it what comes, in a thread of its own. Error: there is no thread.
  io::Result<void> start(const std::string& congestion);
  // To be called once nothing comes any more. all_came: waits until the next target has all; else that one
  // must not take what it got for all.
  void finish(bool all_came);
  // Ends it; nobody is told that nothing is passed on any more.
  void stop();
  // After finish(): what went wrong on the way to the connections.
  std::vector<io::Words> notes() const;

 private:
  void run(const std::string& congestion);

  const StreamPlace& place_;
  const std::function<void(const NextLost&)> lost_;
  std::optional<JoinChain> chain_;
  std::optional<PassOn> order_;
  std::unique_ptr<StreamSetup> setup_;
  std::unique_ptr<Forwarder> forwarder_;
  io::Thread thread_;
  std::atomic<bool> stopped_{false};
};

}  // namespace rdcp::tree
