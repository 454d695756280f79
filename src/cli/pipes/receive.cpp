#include "cli/pipes/receive.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "cli/agents/agent_run.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"
#include "cli/text/version.h"
#include "io/descriptors.h"
#include "net/crypto/pipe_key.h"
#include "net/rails/rdma_port.h"
#include "net/sockets/congestion.h"
#include "net/sockets/sockets.h"
#include "tree/agent/agent.h"
#include "tree/sandbox/sandbox.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using io::Result;

void say(const std::string& text) {
  write_to_stderr("rdrecv: " + text + "\n");
}

int receive_failed(const io::Error& error) {
  say(error.message());
  return exit_status(error.kind);
}

// Finds some errors now that would otherwise show only when the sender is there.
Result<void> check_file(const std::string& file) {
  struct stat status {};
  if (file.empty()) return {};
  if (file.ends_with('/') || (::stat(file.c_str(), &status) == 0 && S_ISDIR(status.st_mode))) {
    return io::errno_error("write", file, EISDIR);
  }
  const std::size_t slash = file.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
  if (::access(parent.c_str(), F_OK) != 0) return io::errno_error("write to", parent);
  return {};
}

// Returns the address to listen on. An RDMA device stands for the network interface that it is on.
Result<std::string> bind_address(const std::string& via) {
  if (via.empty()) return std::string();
  std::string interface = via;
  for (const net::RdmaPort& port : net::own_rdma_ports().usable) {
    if (port.device == via || port.name() == via) interface = port.interface;
  }
  const auto hosts = net::own_addresses(interface);
  if (!hosts) return hosts.error();
  return hosts->front();
}

Result<net::TcpListener> listen(const PipeOptions& options) {
  const auto address = bind_address(options.copy.via);
  if (!address) return address.error();
  auto listener = net::TcpListener::open(*address, options.port);
  if (!listener) {
    io::Error error = listener.error();
    error.kind = ErrorKind::unreachable;
    return error;
  }
  if (options.port == 0) write_to_stderr(fmt::format("port {}\n", listener->port()));
  return listener;
}

Result<net::ProvenSocket> wait_for_sender(net::TcpListener& listener, const net::HandshakeTerms& terms,
                                          const net::TcpOptions& options) {
  const std::atomic<bool> never{false};
  return listener.accept_one(terms, never, options, [](const std::string& who) { say("refused " + who); });
}

tree::ReceiveOnlyPolicy only_target(const PipeOptions& options) {
  tree::ReceiveOnlyPolicy only;
  only.path = options.file;
  only.mode = 0666 & ~::umask(0);
  only.transport = options.copy.transport;
  only.cache = options.copy.cache;
  only.ring = options.copy.ring;
  only.congestion = options.copy.congestion;
  only.via = options.copy.via;
  only.encrypt = options.copy.encrypt;
  return only;
}

// Gives up all but writing to where FILE lands, and all TCP but a socket that listens. What Agent would do
// comes too late: a stranger's handshake is read before it.
Result<void> confine(tree::Sandbox& sandbox, const PipeOptions& options) {
  tree::SandboxTerms terms;
  terms.listens = {options.port, options.port};
  tree::HeldPlace place;
  if (!options.file.empty()) {
    auto held = tree::place_of_stream(options.file);
    if (!held) return held.error();
    place = std::move(*held);
    terms.writes.push_back({place.fd.get(), place.name});
  }
  return sandbox.enter(terms);
}

int ended_by_signal(int signal) {
  say(std::string("ended by SIG") + ::sigabbrev_np(signal) + "; the stream was cut short");
  return kExitSignalBase + signal;
}

// Returns the exit status if this side had no problem itself. The stream is whole only if the sender's last
// word, Finish with status 0, has come.
int judge(const tree::AgentEnd& end) {
  if (!end.status && !end.aborted) {
    say("the sender ended before it reported success; the stream may be cut short");
    return kExitConnection;
  }
  const int status = end.status.value_or(kExitConnection);
  if (end.aborted || status != kExitOk) {
    say("the sender failed; the stream is incomplete");
    return status > kExitOk && status <= kExitDigest ? status : kExitConnection;
  }
  if (end.done && end.done->complete) return kExitOk;
  say("the stream was cut short");
  return kExitConnection;
}

void print_summary(const tree::AgentEnd& end, const tree::Sandbox& sandbox) {
  Summary summary;
  summary.program = "rdrecv";
  summary.files = 1;
  summary.bytes = end.done->bytes;
  summary.seconds = end.seconds;
  summary.streams = static_cast<unsigned>(end.done->streams.size());
  summary.ways = end.done->streams;
  summary.ring = end.done->ring;
  summary.notes = end.done->notes;
  summary.notes.emplace_back(sandbox.description("this process"));
  for (const std::string& lost : end.done->lost_streams) summary.warnings.push_back(lost);
  write_to_stderr(warning_lines(summary) + summary_lines(summary));
}

}  // namespace

int run_receive(PipeOptions options) {
  prepare_to_copy();
  auto secret = read_key(std::move(options.key));
  if (!secret) return receive_failed(secret.error());
  if (auto checked = check_file(options.file); !checked) return receive_failed(checked.error());
  if (auto usable = net::check_congestion(options.copy.congestion); !usable)
    return receive_failed(usable.error());
  const auto salt = net::make_salt();
  if (!salt) return receive_failed(salt.error());
  const auto keys = net::derive_pipe_keys(*secret, *salt);
  *secret = {};
  if (!keys) return receive_failed(keys.error());
  net::HandshakeTerms terms(keys->control, options.copy.encrypt);
  terms.salt = *salt;
  tree::Sandbox sandbox(options.copy.shell.landlock);
  if (auto confined = confine(sandbox, options); !confined) return receive_failed(confined.error());
  auto listener = listen(options);
  if (!listener) return receive_failed(listener.error());
  // Until a sender is there a signal just ends the process.
  auto socket = wait_for_sender(
      *listener, terms, {.congestion = options.copy.congestion, .traffic_class = options.copy.traffic_class});
  if (!socket) return receive_failed(socket.error());

  std::atomic<int> worst{kExitOk};
  tree::AgentConfig place{.confinement = confinement(options.copy.shell, tree::Confinement::by_caller)};
  place.program_version = kVersion;
  place.signal_fd = signals_as_descriptor(Suspend::by_descriptor);
  place.streams.key = keys->data;
  place.streams.traffic_class = options.copy.traffic_class;
  place.seal = socket->seal;
  place.streams.listener = &*listener;
  place.streams.numa = options.copy.numa;
  place.only = only_target(options);
  place.tell = [&worst](const tree::Problem& problem) {
    say(problem.text);
    worst = std::max(worst.load(), exit_status(problem.kind));
  };
  auto out = io::duplicate(socket->get(), "the sender's connection");
  if (!out) return receive_failed(out.error());
  const tree::AgentEnd end = tree::run_agent(std::move(socket->fd), std::move(*out), place);
  int status = end.signal ? ended_by_signal(*end.signal) : worst.load();
  if (status == kExitOk) status = judge(end);
  if (options.copy.verbose && end.done) print_summary(end, sandbox);
  // Closing may report what writing could not yet, such as the full disk of a network filesystem.
  if (::close(STDOUT_FILENO) != 0 && options.file.empty() && status == kExitOk) {
    status = receive_failed(io::errno_error("write", "standard output"));
  }
  if (!end.complete) ::_exit(status);  // something hangs in the kernel
  return status;
}

}  // namespace rdcp::cli
