#include "tree/streams/tcp_beside.h"

#include <utility>

namespace rdcp::tree {

io::Result<void> TcpBeside::begin(const net::TcpCall& call, std::uint16_t stream_count,
                                  std::function<void()> complete) {
  auto thread = io::Thread::start("a thread for TCP", [=, this] {
    auto sockets = listener_.accept_first(call, stream_count);
    if (!sockets) return;
    first_ = std::move(*sockets);
    complete();
  });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return {};
}

std::optional<net::Sockets> TcpBeside::first() {
  thread_.join();
  return std::move(first_);
}

io::Result<void> TcpBeside::go_on(const net::HandshakeTerms& terms, std::uint16_t limit,
                                  const net::TcpOptions& options, std::function<void()> came) {
  if (std::exchange(goes_on_, true)) return {};
  thread_.join();
  auto thread = io::Thread::start("a thread for TCP", [=, this] {
    for (;;) {
      auto further = listener_.accept_further(terms, limit, stop_, options);
      if (!further) return;
      {
        const std::lock_guard lock(mutex_);
        further_.push_back(std::move(*further));
      }
      came();
    }
  });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return {};
}

std::optional<net::TcpListener::Further> TcpBeside::take() {
  const std::lock_guard lock(mutex_);
  if (further_.empty()) return std::nullopt;
  net::TcpListener::Further one = std::move(further_.front());
  further_.pop_front();
  return one;
}

void TcpBeside::stop() {
  stop_ = true;
  listener_.interrupt();
}

}  // namespace rdcp::tree
