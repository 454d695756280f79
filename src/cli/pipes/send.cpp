#include "cli/pipes/send.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/agents/agent_run.h"
#include "cli/copy/coordinator.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"
#include "net/crypto/pipe_key.h"
#include "net/sockets/congestion.h"
#include "net/sockets/sockets.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using io::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTryAgain{100};

int send_failed(const io::Error& error) {
  write_to_stderr(error_line(error, "rdsend"));
  return exit_status(error.kind);
}

// Opens FILE, or duplicates standard input.
Result<io::Fd> open_input(const std::string& file) {
  io::Fd input(file.empty() ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                            : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  const std::string name = file.empty() ? "standard input" : file;
  struct stat status {};
  if (!input || ::fstat(input.get(), &status) != 0) return io::errno_error("open", name);
  if (S_ISDIR(status.st_mode)) return io::errno_error("read", name, EISDIR);
  return input;
}

// Connects to rdrecv, and tries again until the time is over while the connection is refused. Errors are of
// kind unreachable.
Result<net::ProvenSocket> reach_receiver(const PipeOptions& options, const net::HandshakeTerms& terms) {
  const std::atomic<bool> never{false};
  const auto until = Clock::now() + options.wait;
  const std::string name = options.host + " port " + std::to_string(options.port);
  for (;;) {
    auto addresses = net::resolve(options.host, options.port);
    if (!addresses) return addresses.error();
    const auto left = std::chrono::ceil<std::chrono::seconds>(until - Clock::now());
    const net::TcpCall call{
        terms,
        std::max(left, std::chrono::seconds(1)),
        never,
        {.congestion = options.copy.congestion, .traffic_class = options.copy.traffic_class}};
    auto sockets = net::connect_all(*addresses, call, 1);
    if (sockets) return std::move(sockets->front());
    std::string why = net::cause_of(sockets.error());
    if (sockets.error().code == EPROTONOSUPPORT) {
      return io::plain_error(ErrorKind::unreachable, "reach rdrecv on", name, why);
    }
    if (sockets.error().code != ECONNREFUSED) {
      // A peer with the same key would tell the cause, such as --no-encrypt; without one the key may be the
      // cause.
      if (why.find("--no-encrypt") == why.npos) why += " (another KEY, or its rdrecv has another sender)";
      return io::plain_error(ErrorKind::unreachable, "reach rdrecv on", name, why);
    }
    if (Clock::now() + kTryAgain >= until) {
      why += "; gave up after " + std::to_string(options.wait.count()) + " s";
      return io::plain_error(ErrorKind::unreachable, "reach rdrecv on", name, why);
    }
    std::this_thread::sleep_for(kTryAgain);
  }
}

// Derives the keys from KEY and the salt that a receiver sends; no two receivers have the same salt.
class SaltedKeys {
 public:
  explicit SaltedKeys(io::SecretText secret) : secret_(std::move(secret)) {}

  Result<net::SessionKey> control(const net::Salt& salt) {
    if (!keys_ || salt != salt_) {
      auto keys = net::derive_pipe_keys(secret_, salt);
      if (!keys) return keys.error();
      keys_ = *keys;
      salt_ = salt;
    }
    return keys_->control;
  }
  // Returns the streams' key for the receiver that has proven itself last.
  const net::SessionKey& data() const { return keys_->data; }
  // Forgets the secret and the control channel's key, which are not needed any more.
  void forget_all_but_data() {
    secret_ = {};
    keys_->control = {};
  }

 private:
  io::SecretText secret_;
  net::Salt salt_{};
  std::optional<net::PipeKeys> keys_;
};

}  // namespace

int run_send(PipeOptions options) {
  prepare_to_copy();
  auto secret = read_key(std::move(options.key));
  if (!secret) return send_failed(secret.error());
  if (auto usable = net::check_congestion(options.copy.congestion); !usable)
    return send_failed(usable.error());
  auto input = open_input(options.file);
  if (!input) return send_failed(input.error());
  SaltedKeys keys(std::move(*secret));
  net::HandshakeTerms terms;
  terms.sealing = options.copy.encrypt;
  terms.key_of = [&keys](const net::Salt& salt) { return keys.control(salt); };
  auto socket = reach_receiver(options, terms);
  if (!socket) return send_failed(socket.error());
  keys.forget_all_but_data();

  // Until here a signal just ends the process, because no agent needs to be told of it.
  const int signal_fd = signals_as_descriptor(Suspend::by_descriptor);
  Parties parties;
  parties.have_key = true;
  parties.reached = net::peer_address(socket->get());
  parties.start_source = [&] {
    tree::AgentConfig place{.confinement = confinement(options.copy.shell, tree::Confinement::of_process)};
    place.streams.key = keys.data();
    place.standard.input = input->get();
    place.standard.output = -1;
    place.standard.input_by_extents = true;
    if (!options.file.empty()) place.standard.input_name = options.file;
    return AgentSession::start_local(std::move(place));
  };
  parties.start_targets = {[&] {
    return AgentSession::of_connection(std::move(socket->fd), options.host,
                                       "rdrecv there ended unexpectedly, or the connection to it was lost",
                                       socket->seal);
  }};
  return Coordinator(stream_request(options.copy, std::move(parties)), signal_fd).run();
}

}  // namespace rdcp::cli
