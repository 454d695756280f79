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
constexpr const char* kOwnAddress = "is this host's own address";

// One connection that is being made.
class Attempt {
 public:
  Attempt(const Address& address, std::uint16_t own_port) : address_(address), own_port_(own_port) {}

  // elsewhere: the other side is not on this host.
  void start(bool elsewhere) {
    if (elsewhere && is_of_this_host(address_).value_or(false)) {
      cause_ = kOwnAddress;
      return;
    }
    auto socket = begin();
    if (!socket) return fail(socket.error());
    socket_ = std::move(*socket);
  }
  // Makes more connections, which nobody waits for.
  void add(std::size_t connections) {
    for (std::size_t i = 0; i < connections && under_way(); ++i) {
      if (auto socket = begin()) more_.push_back(std::move(*socket));
    }
  }

  bool under_way() const { return !answered_ && cause_.empty(); }
  bool answered() const { return answered_; }
  pollfd poll() const { return {under_way() ? socket_.get() : -1, POLLOUT, 0}; }
  std::string told() const { return address_.text() + ": " + (cause_.empty() ? "does not answer" : cause_); }

  // Gives up its connections to whoever goes on with them.
  void hand_over(std::vector<OpenConnection>& open) {
    open.push_back({address_, std::move(socket_)});
    for (io::Fd& socket : more_) open.push_back({address_, std::move(socket)});
  }

  // To be called once the socket is ready.
  void step() {
    int code = 0;
    socklen_t bytes = sizeof code;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &bytes) != 0) code = errno;
    if (code != 0) return fail(io::errno_error("", "", code));
    judge();
  }

 private:
  io::Result<io::Fd> begin() const {
    const auto to = to_socket_address(address_);
    if (!to) return to.error();
    auto socket = open_tcp_socket(to->storage.ss_family);
    if (!socket) return socket.error();
    const bool connected = ::connect(socket->get(), to->get(), to->length) == 0;
    if (!connected && errno != EINPROGRESS) return io::errno_error("", "");
    return std::move(*socket);
  }
  void judge() {
    answered_ = address_.port != own_port_ || !stays_on_this_host(socket_.get());
    if (!answered_) cause_ = kOwnAddress;
  }
  void fail(const io::Error& error) { cause_ = cause_of(error); }

  const Address& address_;
  const std::uint16_t own_port_;
  io::Fd socket_;
  std::vector<io::Fd> more_;
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

KnockOutcome knock(std::span<const Address> addresses, const KnockLimits& limits, std::uint16_t own_port,
                   const std::atomic<bool>& stop) {
  addresses = addresses.first(std::min(addresses.size(), kKnocksMax));
  std::vector<Attempt> attempts;
  attempts.reserve(addresses.size());
  const bool elsewhere = !addresses.empty() && !is_of_this_host(addresses.front()).value_or(true);
  for (const Address& address : addresses) attempts.emplace_back(address, own_port).start(elsewhere);
  if (!attempts.empty()) attempts.front().add(limits.to_first - 1);
  auto until = Clock::now() + limits.time;
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
    if (!attempts[i].answered()) continue;
    outcome.answered.push_back(static_cast<std::uint16_t>(i));
    if (outcome.open.empty()) attempts[i].hand_over(outcome.open);
  }
  if (!outcome.answered.empty()) return outcome;
  for (const Attempt& attempt : attempts) {
    outcome.none_because += (outcome.none_because.empty() ? "" : "; ") + attempt.told();
  }
  if (outcome.none_because.empty()) outcome.none_because = "it has no address";
  return outcome;
}

}  // namespace rdcp::net
