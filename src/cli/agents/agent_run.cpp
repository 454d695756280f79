#include "cli/agents/agent_run.h"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <utility>

#include "cli/agents/fork_agent.h"
#include "cli/launch/agent_command.h"
#include "cli/text/human.h"
#include "cli/text/output.h"
#include "cli/text/version.h"
#include "io/descriptors.h"
#include "io/words.h"

namespace rdcp::cli {

using io::Result;

namespace {

// How long an agent may take to end after it was told to finish, or has lost us.
constexpr std::chrono::milliseconds kFinishGrace{3000};

constexpr const char* kLocalAgent = "the local agent";

// Both ends of a control channel within this host.
struct Channel {
  AgentRun::Ends ours;
  AgentRun::Ends its;
};

Result<Channel> make_channel() {
  auto ends = io::make_socket_pair();
  if (!ends) return ends.error();
  auto our_out = io::duplicate(ends->first.get(), kLocalAgent);
  if (!our_out) return our_out.error();
  auto its_out = io::duplicate(ends->second.get(), kLocalAgent);
  if (!its_out) return its_out.error();
  return Channel{.ours = {std::move(ends->first), std::move(*our_out)},
                 .its = {std::move(ends->second), std::move(*its_out)}};
}

}  // namespace

Result<AgentRun::Ends> AgentRun::start_remote(const RemoteShell& shell, const Location& location,
                                              const std::string& prefix) {
  // srun's lines and those of --rsh's programs name them, or whoever has written them.
  const bool named = runs_ssh(shell) || shell.launcher == Launcher::kubectl;
  const std::string by_default = location.host + (named ? fmt::format(": {}: ", program_name(shell)) : ": ");
  origin_ = {.shell = shell, .location = location, .prefix = prefix.empty() ? by_default : prefix};
  return launch_remote();
}

bool AgentRun::can_start_ours() const {
  return origin_ && looks_around(origin_->shell) && origin_->shell.deploy &&
         origin_->search == Search::everywhere;
}

Result<AgentRun::Ends> AgentRun::start_ours() {
  end_process(true);
  lines_.reset();
  origin_->search = Search::only_ours;
  return launch_remote();
}

WayIn AgentRun::way_in_to_it() const {
  WayIn way{.search = origin_->search, .same_path = own_path(), .agents = {}, .agent_options = {}};
  if (looks_around(origin_->shell)) way.agents = agent_files();
  if (!origin_->shell.landlock) way.agent_options.emplace_back(kNoLandlock);
  return way;
}

Result<std::unique_ptr<Bridge>> AgentRun::start_bridge(const net::Address& at, io::Fd connection,
                                                       Login login) const {
  const std::string to = fmt::format("{},{}", at.host, at.port);
  if (!shared_)
    return Bridge::start(further_session(to, origin_->shell), std::nullopt, std::move(connection));
  BridgeCommand shared = further_session(to, shared_->further(origin_->shell));
  if (login == Login::shared) return Bridge::start(shared, std::nullopt, std::move(connection));
  BridgeCommand own = further_session(to, origin_->shell);
  own.prefix.reset();  // it may fail, as where a password would have to be asked for
  return Bridge::start(own, std::move(shared), std::move(connection));
}

Result<std::unique_ptr<Bridge>> AgentRun::start_rejoin(const std::string& rejoin_socket, io::Fd connection,
                                                       bool quiet) const {
  BridgeCommand command = further_session(rejoin_socket, origin_->shell);
  if (quiet) command.prefix.reset();
  return Bridge::start(command, std::nullopt, std::move(connection));
}

BridgeCommand AgentRun::further_session(const std::string& to, RemoteShell shell) const {
  if (runs_ssh(shell)) shell.ssh_options.insert(shell.ssh_options.begin(), "BatchMode=yes");
  WayIn way = way_in_to_it();
  way.agent_options.push_back(fmt::format("{}={}", kBridge, to));
  return {.words = agent_command(shell, origin_->location, way),
          .prefix = origin_->prefix,
          .group = group_of(shell)};
}

Result<AgentRun::Ends> AgentRun::launch_remote() {
  const RemoteShell& shell = origin_->shell;
  WayIn way = way_in_to_it();
  way.may_put = shell.deploy;
  shared_ = shell.shares && runs_ssh(shell) ? SharedSession::prepare(shell, origin_->location) : std::nullopt;
  return launch(agent_command(shared_ ? shared_->first(shell) : shell, origin_->location, way),
                origin_->prefix);
}

Result<void> AgentRun::answer_ask(std::string_view line, int out) {
  const std::string& host = origin_->location.host;
  const auto refuse = [&](const std::string& why) {
    return io::plain_error(io::ErrorKind::unreachable, "start rdcp on", host, why);
  };
  const auto ask = read_agent_ask(line);
  if (!ask || delivery_) return refuse("its shell says what makes no sense here");
  if (ask->kind == AgentAsk::Kind::nowhere) {
    return refuse(
        "it is not installed there, and there is no place to put it: neither ~/.cache nor /tmp nor /var/tmp "
        "can be "
        "written to, has room and lets programs run");
  }
  const std::vector<AgentFile> files = agent_files();
  const auto found = std::ranges::find(files, ask->processor, &AgentFile::processor);
  if (ask->kind == AgentAsk::Kind::none || found == files.end()) {
    return refuse(
        origin_->shell.deploy
            ? "it is not installed there, and there is no rdcp-agent-" + io::visible(ask->processor) +
                  " here that could be put there; install rdcp there or name it with --rdcp-path"
            : "it was not found there, and --no-deploy forbids to put it there; install it there or name "
              "it with --rdcp-path");
  }
  auto file = open_agent(*found);
  if (!file) return file.error();
  auto to = io::duplicate(out, host);
  if (!to) return to.error();
  write_remark(host + ": no rdcp of this version was found there; putting one into " + ask->place + " (" +
                   format_bytes(found->bytes) + ")\n",
               origin_->shell.quiet);
  auto delivery = Delivery::start(std::move(*file), std::move(*to));
  if (!delivery) return delivery.error();
  delivery_ = std::move(*delivery);
  return {};
}

Result<AgentRun::Ends> AgentRun::start_beside(const std::string& prefix, bool landlock) {
  origin_ = {.shell = {},
             .location = {.kind = Location::Kind::local, .user = {}, .host = "this host", .path = {}}};
  std::vector<std::string> command{"/proc/self/exe", "--agent", kOfRdpipe};
  if (!landlock) command.emplace_back(kNoLandlock);
  return launch(command, prefix);
}

Result<AgentRun::Ends> AgentRun::launch(const std::vector<std::string>& command, const std::string& prefix) {
  if (!prefix.empty()) {
    auto lines = LinePipe::start(prefix);
    if (!lines) return lines.error();
    lines_ = std::move(*lines);
  }
  auto process = launch_agent(command, lines_ ? lines_->fd() : -1, group_of(origin_->shell));
  if (!process) return process.error();
  if (lines_) lines_->let_go();
  pid_ = process->pid;
  return Ends{std::move(process->from), std::move(process->to)};
}

Result<AgentRun::Ends> AgentRun::start_local(tree::AgentConfig config) {
  auto channel = make_channel();
  if (!channel) return channel.error();
  auto lines = LinePipe::prepare("this host: ");
  if (!lines) return lines.error();
  config.program_version = kVersion;
  const auto pid = fork_agent({.control_in = std::move(channel->its.in),
                               .control_out = std::move(channel->its.out),
                               .standard_error = (*lines)->fd(),
                               .config = std::move(config)});
  if (!pid) return pid.error();
  pid_ = *pid;
  forked_ = true;
  (*lines)->let_go();
  if (auto begun = (*lines)->begin(); !begun) return begun.error();
  lines_ = std::move(*lines);
  return std::move(channel->ours);
}

Result<AgentRun::Ends> AgentRun::start_thread(tree::AgentConfig config) {
  auto channel = make_channel();
  if (!channel) return channel.error();
  config.program_version = kVersion;
  auto thread =
      io::Thread::start(kLocalAgent, [its = std::move(channel->its), config = std::move(config)]() mutable {
        tree::run_agent(std::move(its.in), std::move(its.out), config);
      });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return std::move(channel->ours);
}

void AgentRun::signal_fork(int signal) {
  if (forked_ && pid_ > 0) ::kill(pid_, signal);
}

bool AgentRun::has_ended() {
  if (pid_ <= 0) return true;
  if (!wait_agent(pid_, std::chrono::milliseconds(0))) return false;
  pid_ = -1;
  return true;
}

io::Error AgentRun::explain(const std::string& noise) {
  std::optional<int> status;
  if (pid_ > 0) {
    status = wait_agent(pid_, noise.empty() ? kFinishGrace : std::chrono::milliseconds(0));
    if (status) pid_ = -1;
  }
  if (lines_) lines_->finish();  // its standard error is printed first
  return explain_launch_failure(origin_->shell, origin_->location, status, noise);
}

std::optional<int> AgentRun::leave_process(std::chrono::milliseconds limit) {
  const auto status = pid_ > 0 ? wait_agent(pid_, limit) : std::nullopt;
  if (status) pid_ = -1;
  end_process(true);
  return status;
}

void AgentRun::end_process(bool by_force) {
  if (pid_ > 0) {
    if (by_force || !wait_agent(pid_, kFinishGrace)) end_agent(pid_);
    pid_ = -1;
  }
  if (shared_) shared_->clean_up();
  if (lines_) lines_->finish(by_force);
}

}  // namespace rdcp::cli
