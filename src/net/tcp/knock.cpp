#include "net/tcp/knock.h"

#include <poll.h>

#include <algorithm>

#include "io/ring.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;

// How much longer the others are waited for once one has answered: a better address is rarely slower by more.
constexpr std::chrono::milliseconds kOthers{20};
// How often it is looked whether this is to stop.
constexpr Clock::duration kLook = std::chrono::milliseconds(20);

// One connection that is being made.
class Attempt {
 public:
  Attempt(const Address& address, std::uint16_t own_port) : address_(address), own_port_(own_port) {}

  void start() {
    const auto to = to_socket_address(address_);
    if (!to) return fail(to.error());
    auto socket = open_tcp_socket(to->storage.ss_family);
    if (!socket) return fail(socket.error());
    socket_ = std::move(*socket);
    if (::connect(socket_.get(), to->get(), to->length) == 0) return judge();
    if (errno != EINPROGRESS) fail(io::errno_error("", ""));
  }

  bool under_way() const { return !answered_ && cause_.empty(); }
  bool answered() const { return answered_; }
  pollfd poll() const { return {under_way() ? socket_.get() : -1, POLLOUT, 0}; }
  std::string told() const { return address_.text() + ": " + (cause_.empty() ? "does not answer" : cause_); }

  // To be called once the socket is ready.
  void step() {
    int code = 0;
    socklen_t bytes = sizeof code;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &bytes) != 0) code = errno;
    if (code != 0) return fail(io::errno_error("", "", code));
    judge();
  }

 private:
  void judge() {
    answered_ = address_.port != own_port_ || !stays_on_this_host(socket_.get());
    if (!answered_) cause_ = "is this host's own address";
  }
  void fail(const io::Error& error) { cause_ = cause_of(error); }

  const Address& address_;
  const std::uint16_t own_port_;
  io::Fd socket_;
  bool answered_ = false;
  std::string cause_;
};

void wait_and_step(std::vector<Attempt>& attempts, Clock::duration wait) {
  std::vector<pollfd> polls;
  for (const Attempt& attempt : attempts) polls.push_back(attempt.poll());
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait);
  if (::poll(polls.data(), polls.size(), static_cast<int>(milliseconds.count())) <= 0) return;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (polls[i].revents != 0) attempts[i].step();
  }
}

}  // namespace

KnockOutcome knock(std::span<const Address> addresses, std::chrono::milliseconds limit,
                   std::uint16_t own_port, const std::atomic<bool>& stop) {
  addresses = addresses.first(std::min(addresses.size(), kKnocksMax));
  std::vector<Attempt> attempts;
  attempts.reserve(addresses.size());
  for (const Address& address : addresses) attempts.emplace_back(address, own_port).start();
  auto until = Clock::now() + limit;
  bool any = false;
  while (std::ranges::any_of(attempts, &Attempt::under_way)) {
    if (!any && std::ranges::any_of(attempts, &Attempt::answered)) {
      any = true;
      until = std::min(until, Clock::now() + kOthers);
    }
    const auto now = Clock::now();
    if (now >= until || stop) break;
    wait_and_step(attempts, std::min<Clock::duration>(until - now, kLook));
  }
  KnockOutcome outcome;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i].answered()) outcome.answered.push_back(static_cast<std::uint16_t>(i));
  }
  if (!outcome.answered.empty()) return outcome;
  for (const Attempt& attempt : attempts) {
    outcome.none_because += (outcome.none_because.empty() ? "" : "; ") + attempt.told();
  }
  if (outcome.none_because.empty()) outcome.none_because = "it has no address";
  return outcome;
}

}  // namespace rdcp::net
