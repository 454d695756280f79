#include "tree/agent/chain_link.h"

namespace rdcp::tree {

ChainLink::~ChainLink() {
  stop();
  if (thread_.joinable()) thread_.join();
}

io::Result<void> ChainLink::pass_on(const PassOn& order, const CopySettings& settings) {
  order_ = order;
  setup_ = std::make_unique<StreamSetup>(place_);
  if (auto opened = setup_->open(order.streams); !opened) return std::move(opened).error();
  forwarder_ = std::make_unique<Forwarder>(settings, order.streams, [this](const Problem& why) {
    if (!stopped_) lost_(NextLost{why.text});
  });
  return {};
}

io::Result<void> ChainLink::start(const std::string& congestion) {
  if (forwarder_ == nullptr) return {};
  auto thread =
      io::Thread::start("the thread that passes chunks on", [this, congestion] { run(congestion); });
  if (!thread) return std::move(thread).error();
  thread_ = std::move(*thread);
  return {};
}

void ChainLink::run(const std::string& congestion) {
  const Begin& begin = order_->begin;
  const auto streams = setup_->make(begin, true, congestion);
  if (!streams) {
    forwarder_->stop();
    if (!stopped_) lost_(NextLost{io::Words(streams.error().message())});
    return;
  }
  forwarder_->copy(*streams, {.target_slots = begin.target_slots, .slot_bytes = begin.chunk_bytes});
}

void ChainLink::finish(bool all_came) {
  if (forwarder_ == nullptr) return;
  if (all_came) {
    forwarder_->close();
  } else {
    stop();
  }
  if (thread_.joinable()) thread_.join();
}

void ChainLink::stop() {
  stopped_ = true;
  if (setup_ != nullptr) setup_->stop();
  if (forwarder_ != nullptr) forwarder_->stop();
}

std::vector<io::Words> ChainLink::notes() const {
  return setup_ != nullptr ? setup_->notes() : std::vector<io::Words>();
}

}  // namespace rdcp::tree
