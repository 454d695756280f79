#include "cli/agents/delivery.h"

#include <unistd.h>

#include <vector>

#include "io/write_all.h"

namespace rdcp::cli {

io::Result<std::unique_ptr<Delivery>> Delivery::start(io::Fd file, io::Fd to) {
  std::unique_ptr<Delivery> delivery(new Delivery(std::move(file), std::move(to)));
  auto thread = io::Thread::start("the delivery of an agent", [it = delivery.get()] { it->run(); });
  if (!thread) return thread.error();
  delivery->thread_ = std::move(*thread);
  return delivery;
}

void Delivery::run() {
  constexpr std::chrono::seconds kTakesNothing{25};
  std::vector<char> buffer(64 << 10);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file_.get(), buffer.data(), buffer.size(), at);
    if (got <= 0) break;  // the far side notices that bytes are missing
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (io::write_all(to_.get(), bytes, {.limit = kTakesNothing}) != 0) break;
    taken_ = Clock::now().time_since_epoch().count();
    at += got;
  }
  to_.reset();
}

}  // namespace rdcp::cli
