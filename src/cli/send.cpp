#include "cli/send.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/coordinator.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/report.h"
#include "net/congestion.h"
#include "net/pipe_key.h"
#include "net/sockets.h"
#include "net/tcp_connect.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using io::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTryAgain{100};

int fail(const io::Error& error) {
  write_to_stderr(error_line(error, "rdsend"));
  return exit_status(error.kind);
}

// Standard input, or FILE.
Result<io::Fd> open_input(const std::string& file) {
  io::Fd input(file.empty() ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                            : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  const std::string name = file.empty() ? "standard input" : file;
  struct stat status {};
  if (!input || ::fstat(input.get(), &status) != 0) return io::errno_error("open", name);
  if (S_ISDIR(status.st_mode)) return io::errno_error("read", name, EISDIR);
  return input;
}

// Tries until rdrecv is there, or the time is over. Error (unreachable).
Result<net::ProvenSocket> reach_receiver(const PipeOptions& options, const net::HandshakeTerms& terms) {
  const std::atomic<bool> never{false};
  const auto until = Clock::now() + options.wait;
  const std::string name = options.host + " port " + std::to_string(options.port);
  for (;;) {
    auto addresses = net::resolve(options.host, options.port);
    if (!addresses) return addresses.error();
    const auto left = std::chrono::ceil<std::chrono::seconds>(until - Clock::now());
    auto sockets = net::connect_all(*addresses, terms, 1, std::max(left, std::chrono::seconds(1)), never,
                                    {.congestion = options.copy.congestion});
    if (sockets) return std::move(sockets->front());
    std::string why = net::cause_of(sockets.error());
    if (sockets.error().code == EPROTONOSUPPORT) {
      return io::plain_error(ErrorKind::unreachable, "reach rdrecv on", name, why);
    }
    if (sockets.error().code != ECONNREFUSED) {
      // Where the keys agree, the cause is told by a side that has proven its own.
      if (why.find("--encrypt") == why.npos) why += " (another KEY, or its rdrecv has another sender)";
      return io::plain_error(ErrorKind::unreachable, "reach rdrecv on", name, why);
    }
    if (Clock::now() + kTryAgain >= until) {
      why += "; gave up after " + std::to_string(options.wait.count()) + " s";
      return io::plain_error(ErrorKind::unreachable, "reach rdrecv on", name, why);
    }
    std::this_thread::sleep_for(kTryAgain);
  }
}

// The receiver tells the salt, and no two have the same.
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
  // Of the receiver that has proven itself last.
  const net::SessionKey& data() const { return keys_->data; }
  // The key of the streams is all that is wanted from now on.
  void forget_all_but_data() {
    secret_ = {};
    keys_->control = {};
  }

 private:
  io::SecretText secret_;
  net::Salt salt_{};
  std::optional<net::PipeKeys> keys_;
};

Options copy_options(const PipeOptions& options) {
  Options copy = options.copy;
  copy.sources = {Location{.kind = Location::Kind::standard_stream, .user = {}, .host = {}, .path = "-"}};
  // What it is called there is rdrecv's to say.
  copy.destination =
      Location{.kind = Location::Kind::remote, .user = {}, .host = options.host, .path = "file"};
  return copy;
}

}  // namespace

int run_send(PipeOptions options) {
  auto secret = read_key(std::move(options.key));
  if (!secret) return fail(secret.error());
  if (auto usable = net::check_congestion(options.copy.congestion); !usable) return fail(usable.error());
  auto input = open_input(options.file);
  if (!input) return fail(input.error());
  SaltedKeys keys(std::move(*secret));
  net::HandshakeTerms terms;
  terms.seals = options.copy.encrypt;
  terms.key_of = [&keys](const net::Salt& salt) { return keys.control(salt); };
  auto socket = reach_receiver(options, terms);
  if (!socket) return fail(socket.error());
  keys.forget_all_but_data();

  // Until here a signal just ends the process: nobody knows of it yet.
  const int signal_fd = signals_as_descriptor(Suspend::by_descriptor);
  raise_limits();
  Parties parties;
  parties.have_key = true;
  parties.reached = net::peer_address(socket->get());
  parties.start_source = [&] {
    tree::AgentPlace place;
    place.streams.key = keys.data();
    place.standard.input = input->get();
    place.standard.input_by_extents = true;
    if (!options.file.empty()) place.standard.input_name = options.file;
    return AgentLink::start_local(std::move(place));
  };
  parties.start_target = [&] {
    net::make_control_socket(socket->get());
    return AgentLink::of_connection(std::move(socket->fd), options.host, "its rdrecv is gone", socket->seal);
  };
  return Coordinator(copy_options(options), signal_fd, std::move(parties)).run();
}

}  // namespace rdcp::cli
