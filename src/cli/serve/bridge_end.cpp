#include "cli/serve/bridge_end.h"

#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "io/thread.h"
#include "io/write_all.h"
#include "net/sockets/sockets.h"
#include "tree/sandbox/sandbox.h"

namespace rdcp::cli {
namespace {

// ssh's channels move 32 KiB at a time; more than this would only leave the cache.
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

// Moves bytes until `from` is at its end, or one of them fails.
void move(int from, int to) {
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const long got = io::read_some(from, piece.data(), piece.size());
    if (got <= 0) return;
    if (io::write_all(to, std::string_view(piece).substr(0, static_cast<std::size_t>(got))) != 0) return;
  }
}

}  // namespace

int serve_bridge(const std::string& at, bool landlock) {
  const auto address = parse(at);
  if (!address) return refuse(kExitUsage, address.error().message());
  tree::Sandbox sandbox(landlock);
  auto held = sandbox.enter({.connects = true});
  if (held) held = sandbox.keep_connections_to({address->port});
  if (!held) return refuse(kExitFiles, held.error().message());
  auto socket = net::connect_to(*address);
  if (!socket) return refuse(kExitConnection, socket.error().message());
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
