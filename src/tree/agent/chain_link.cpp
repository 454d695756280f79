#include "tree/agent/chain_link.h"

namespace rdcp::tree {

ChainLink::~ChainLink() {
  stop();
  join_threads();
}

void ChainLink::join_threads() {
  for (const auto& branch : branches_) {
    if (branch->thread.joinable()) branch->thread.join();
  }
}

io::Result<void> ChainLink::pass_on(const PassOn& order, const CopySettings& settings) {
  auto branch = std::make_unique<Branch>(place_);
  if (auto opened = branch->setup.open(order.streams); !opened) return std::move(opened).error();
  branch->forwarder = std::make_unique<Forwarder>(
      settings, order.streams,
      [this, number = branches_.size()](const Problem& why) { lose(number, why.text); });
  const auto link = static_cast<std::uint32_t>(branches_.size() + 1);
  branch->setup.exchange_pairs({.offer =
                                    [this, link](const net::PairOffer& offer) {
                                      offer_({link, offer});
                                    },
                                .answer = [](const net::PairAnswer&) {}});
  branches_.push_back(std::move(branch));
  orders_.push_back(order);
  return {};
}

std::vector<NextTargets*> ChainLink::nexts() const {
  std::vector<NextTargets*> nexts;
  for (const auto& branch : branches_) nexts.push_back(branch->forwarder.get());
  return nexts;
}

io::Result<void> ChainLink::start(const std::string& congestion) {
  for (std::size_t number = 0; number < branches_.size(); ++number) {
    auto thread = io::Thread::start("a thread that passes chunks on",
                                    [this, number, congestion] { run(number, congestion); });
    if (!thread) return std::move(thread).error();
    branches_[number]->thread = std::move(*thread);
  }
  return {};
}

void ChainLink::run(std::size_t branch, const std::string& congestion) {
  Branch& own = *branches_[branch];
  const Begin& begin = orders_[branch].begin;
  own.setup.hints() = hints_;
  if (leaves_placement_) own.setup.leave_placement();
  const auto streams = own.setup.make(begin, true, congestion);
  if (!streams) {
    own.forwarder->stop();
    lose(branch, io::Words(streams.error().message()));
    return;
  }
  own.forwarder->copy(*streams, {.target_slots = begin.target_slots, .slot_bytes = begin.chunk_bytes});
}

void ChainLink::lose(std::size_t branch, const io::Words& why) {
  if (!stopped_) lost_(BranchLost{static_cast<std::uint32_t>(branch), why});
}

bool ChainLink::hear(const PairAnswered& answered) {
  if (answered.link == 0 || answered.link > branches_.size()) return false;
  branches_[answered.link - 1]->setup.hear(answered.answer);
  return true;
}

void ChainLink::finish(SourceEnd end) {
  if (end == SourceEnd::lost) stop();
  for (const auto& branch : branches_) {
    if (end == SourceEnd::all_came) branch->forwarder->close();
    if (end == SourceEnd::cut_short) branch->forwarder->cut_short();
  }
  join_threads();
}

void ChainLink::stop() {
  stopped_ = true;
  for (const auto& branch : branches_) {
    branch->setup.stop();
    branch->forwarder->stop();
  }
}

std::vector<io::Words> ChainLink::notes() const {
  std::vector<io::Words> notes;
  for (const auto& branch : branches_) {
    const std::vector<io::Words> own = branch->setup.notes();
    notes.insert(notes.end(), own.begin(), own.end());
  }
  return notes;
}

}  // namespace rdcp::tree
