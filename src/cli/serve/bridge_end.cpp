#include "cli/serve/bridge_end.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "io/retry.h"
#include "io/thread.h"
#include "io/write_all.h"
#include "net/sockets/sockets.h"
#include "net/sockets/user_socket.h"
#include "net/sockets/within_host.h"
#include "tree/sandbox/sandbox.h"

namespace rdcp::cli {
namespace {

// A pipe of sshd's holds this much, so that it and this process take turns less often than at every 32 KiB,
// which is what it moves at a time. More would only leave the cache.
constexpr std::size_t kPieceBytes = 256 << 10;

int refuse(int status, const std::string& why) {
  write_to_stderr("rdcp --bridge: " + why + "\n");
  return status;
}

io::Result<net::Address> parse(const std::string& at) {
  net::Address address;
  const std::size_t comma = at.rfind(',');
  const char* end = at.data() + at.size();
  if (comma != at.npos) {
    address.host = at.substr(0, comma);
    const auto read = std::from_chars(at.data() + comma + 1, end, address.port);
    if (read.ec == std::errc() && read.ptr == end && address.port != 0 && net::to_socket_address(address))
      return address;
  }
  return io::plain_error(io::ErrorKind::usage, "--bridge", at, "must be ADDRESS,PORT");
}

// True if this is one end of a pipe, as sshd gives to its commands where it has been built to.
bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

void await(int fd, short events) {
  pollfd watched{fd, events, 0};
  io::wait_for_events({&watched, 1}, -1);
}

// Waits until `from` has bytes or is at its end. Returns false once nobody reads from `to` any more, which an
// agent that has nothing to say must hear as well: so it tells a lost connection from the coordinator's end.
bool await_bytes(int from, int to) {
  std::array<pollfd, 2> watched{pollfd{from, POLLIN, 0}, pollfd{to, 0, 0}};
  io::wait_for_events(watched, -1);
  return watched[1].revents == 0;
}

// Moves bytes by splice(2), which copies none of them, until `from` is at its end, or one of them fails. One
// is a pipe and the other a socket that does not block: while splice(2) waits for either it holds the lock of
// the pipe, and sshd, which carries both directions, would wait for that.
void splice_all(int from, int to) {
  for (;;) {
    const long moved = ::splice(from, nullptr, to, nullptr, kPieceBytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) return;
    if (moved > 0) continue;
    if (!await_bytes(from, to)) return;
    await(to, POLLOUT);
  }
}

// Does the same with what is no pipe, by a socket that blocks.
void copy_all(int from, int to) {
  std::string piece(kPieceBytes, '\0');
  while (await_bytes(from, to)) {
    const long got = io::read_some(from, piece.data(), piece.size());
    if (got <= 0) return;
    if (io::write_all(to, std::string_view(piece).substr(0, static_cast<std::size_t>(got))) != 0) return;
  }
}

// Enters the sandbox and connects. What is in a sandbox reaches no socket of a process outside it.
io::Result<io::Fd> connect(const std::string& at, tree::Sandbox& sandbox) {
  if (net::is_user_socket(at)) {
    auto socket = net::connect_to_user_socket(at);
    const auto held = sandbox.enter({});
    return held ? std::move(socket) : held.error();
  }
  const auto address = parse(at);
  if (!address) return address.error();
  if (auto beside = net::connect_beside(address->port)) {
    const auto held = sandbox.enter({});
    return held ? std::move(beside) : held.error();
  }
  auto held = sandbox.enter({.connects = true});
  if (held) held = sandbox.keep_connections_to({address->port});
  return held ? net::connect_to_this_host(*address) : held.error();
}

}  // namespace

int serve_bridge(const std::string& at, bool landlock) {
  tree::Sandbox sandbox(landlock);
  auto socket = connect(at, sandbox);
  if (!socket) return refuse(exit_status(socket.error().kind), socket.error().message());
  const bool splices =
      is_pipe(STDIN_FILENO) && is_pipe(STDOUT_FILENO) && ::fcntl(socket->get(), F_SETFL, O_NONBLOCK) == 0;
  for (const int pipe : {STDIN_FILENO, STDOUT_FILENO})  // where there is none, that fails
    (void)::fcntl(pipe, F_SETPIPE_SZ, static_cast<int>(kPieceBytes));
  const auto move = splices ? splice_all : copy_all;
  auto inward = io::Thread::start("the way in", [&] {
    move(STDIN_FILENO, socket->get());
    ::shutdown(socket->get(), SHUT_WR);
  });
  if (!inward) return refuse(kExitFiles, inward.error().message());
  move(socket->get(), STDOUT_FILENO);
  ::close(STDOUT_FILENO);
  ::shutdown(socket->get(), SHUT_RD);  // nobody hears it any more, so the agent is to know
  inward->join();
  return kExitOk;
}

}  // namespace rdcp::cli
