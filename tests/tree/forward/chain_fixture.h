// A source and a chain or a tree of targets in one process, each joined to the next by memory streams.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tree/copy/copy_fixture.h"
#include "tree/forward/forwarder.h"

namespace rdcp::tree {

struct ChainCase {
  std::vector<std::string> sources;
  std::vector<std::string> destinations;  // one for each target, in the order of the chain
  CopySettings settings = {};
  Selection selection = {};
  std::string marker = {};
  std::size_t fanout = 1;  // to how many others each target passes on
  std::uint32_t chunk_bytes = 64 << 10;
  std::uint16_t streams = 2;
  std::uint32_t depth = 4;
  bool ledger = true;                     // without it a target goes on when those behind it are lost
  std::vector<net::MemoryTap> taps = {};  // of the streams to each target; may be shorter than the chain
};

// One target of the chain, and what it passes on.
struct ChainedTarget {
  Heard heard;
  std::unique_ptr<Target> target;
  std::vector<std::unique_ptr<Forwarder>> forwarders;  // one for each target that it passes on to
  std::mutex mutex;
  std::vector<Problem> lost;  // why the relays could pass on no more

  // Any thread may call this.
  void lose(const Problem& why) {
    const std::lock_guard lock(mutex);
    lost.push_back(why);
  }
};

struct ChainResult {
  Done source;
  std::vector<Done> targets;
  std::vector<Pace> paces;             // what each target has been busy with
  std::vector<std::string> told;       // problems of each target
  std::vector<std::string> losses;     // what each relay said of its loss
  std::vector<bool> proven;            // each target has got what the source sent
  std::vector<std::uint64_t> missing;  // what it wanted, and did not get
};

class Chain {
 public:
  Chain(ChainCase wanted, Heard& heard) : case_(std::move(wanted)), heard_(heard) {
    case_.settings.chunk_bytes = case_.chunk_bytes;
    shape_ = {.target_slots = case_.depth, .slot_bytes = case_.settings.chunk_bytes};
    for (const std::string& destination : case_.destinations) add_target(destination);
    for (std::size_t i = 1; i < targets_.size(); ++i) add_forwarder(*targets_[parent(i)]);
    for (const auto& one : targets_) join_chain(*one);
  }

  // Any thread may call these during run(). The first has a target pass on no more.
  void cut_behind(std::size_t target, std::size_t branch = 0) {
    targets_[target]->forwarders[branch]->stop();
  }
  void stop() {
    source_->stop();
    for (const auto& one : targets_) one->target->stop();
  }

  ChainResult run() {
    SourceJob job;
    job.settings = case_.settings;
    job.paths = case_.sources;
    job.recursive = true;
    job.selection = case_.selection;
    Source source(job, heard_.reporter);
    source_ = &source;
    source.join_chain();
    if (case_.ledger) source.keep_ledger();
    facts_ = source.open();
    EXPECT_TRUE(source.start_walk());
    std::vector<StreamMaker> from = join(0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < targets_.size(); ++i) begin(i, source);
    for (std::size_t i = 1; i < targets_.size(); ++i) {
      Forwarder& to_it = *targets_[parent(i)]->forwarders[(i - 1) % case_.fanout];
      threads.emplace_back([this, &to_it, next = join(i)] { to_it.copy(next, shape_); });
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      threads.emplace_back([this, i] {
        targets_[i]->target->copy(ends_[i], shape_);
        for (const auto& forwarder : targets_[i]->forwarders) {
          end(*forwarder, targets_[i]->target->source_end());
        }
      });
    }
    source.copy(from, shape_);
    for (std::thread& thread : threads) thread.join();
    ChainResult result;
    result.source = source.result();
    for (const auto& one : targets_) {
      result.targets.push_back(one->target->result());
      result.paces.push_back(one->target->pace());
      result.told.push_back(one->heard.text());
      std::string lost;
      for (const Problem& why : one->lost) lost += why.text + "\n";
      result.losses.push_back(lost);
      if (!case_.ledger) continue;
      const Ledger got = *one->target->ledger();
      result.proven.push_back(agree(*source.ledger(), got));
      result.missing.push_back(got.missing);
    }
    return result;
  }

 private:
  // As ChainLink::finish() does.
  static void end(Forwarder& forwarder, SourceEnd end) {
    if (end == SourceEnd::all_came) forwarder.close();
    if (end == SourceEnd::cut_short) forwarder.cut_short();
    if (end == SourceEnd::lost) forwarder.stop();
  }
  void add_target(const std::string& destination) {
    TargetJob job;
    job.settings = case_.settings;
    job.path = destination;
    job.marker = case_.marker;
    job.selection = case_.selection;
    job.tree = true;
    auto one = std::make_unique<ChainedTarget>();
    one->target = std::make_unique<Target>(job, one->heard.reporter);
    if (case_.ledger) one->target->keep_ledger();
    targets_.push_back(std::move(one));
  }

  std::size_t parent(std::size_t target) const { return (target - 1) / case_.fanout; }

  void add_forwarder(ChainedTarget& from) {
    from.forwarders.push_back(std::make_unique<Forwarder>(case_.settings, StreamWish(),
                                                          [&from](const Problem& why) { from.lose(why); }));
  }

  static void join_chain(ChainedTarget& one) {
    std::vector<NextTargets*> nexts;
    for (const auto& forwarder : one.forwarders) nexts.push_back(forwarder.get());
    one.target->join_chain(nexts);
  }

  // Opens the target, and tells it and the source where things land.
  void begin(std::size_t index, Source& source) {
    Target& target = *targets_[index]->target;
    const auto landing =
        land(case_.sources, facts_, case_.destinations[index], target.open(), {.same_kernel = true});
    ASSERT_TRUE(landing) << landing.error().message();
    Begin begin;
    begin.beneath_parent = landing->beneath_parent;
    begin.landings = landing->admitted;
    begin.streams = case_.streams;
    source.set_landings(landing->landings);
    ASSERT_TRUE(target.begin(begin));
  }

  // Returns the sending ends of the streams to a target, and keeps the others.
  std::vector<StreamMaker> join(std::size_t target) {
    ends_.resize(targets_.size());
    const net::MemoryTap tap = target < case_.taps.size() ? case_.taps[target] : net::MemoryTap();
    std::vector<StreamMaker> from;
    for (int i = 0; i < case_.streams; ++i) {
      const StreamEnds ends = join_in_memory(shape_, tap);
      from.push_back(ends.source);
      ends_[target].push_back(ends.target);
    }
    return from;
  }

  ChainCase case_;
  Heard& heard_;
  Source* source_ = nullptr;  // during run()
  net::StreamShape shape_;
  std::vector<std::unique_ptr<ChainedTarget>> targets_;
  std::vector<std::vector<StreamMaker>> ends_;
  std::vector<PathFacts> facts_;
};

}  // namespace rdcp::tree
