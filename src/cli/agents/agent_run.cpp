#include "cli/agents/agent_run.h"

#include <utility>

#include "cli/agents/agent_command.h"
#include "cli/text/version.h"
#include "io/descriptors.h"

namespace rdcp::cli {

using io::Result;

namespace {

// How long an agent may take to end after it was told to finish, or has lost us.
constexpr std::chrono::milliseconds kFinishGrace{3000};

}  // namespace

Result<AgentRun::Ends> AgentRun::start_remote(const RemoteShell& shell, const Location& location,
                                              const std::string& prefix) {
  origin_ = {shell, location};
  const std::string by_default = location.host + (runs_ssh(shell) ? ": ssh: " : ": ");
  return launch(agent_command(shell, location), prefix.empty() ? by_default : prefix);
}

Result<AgentRun::Ends> AgentRun::start_beside(const std::string& prefix) {
  origin_ = {{}, {.kind = Location::Kind::local, .user = {}, .host = "this host", .path = {}}};
  return launch({"/proc/self/exe", "--agent"}, prefix);
}

Result<AgentRun::Ends> AgentRun::launch(const std::vector<std::string>& command, const std::string& prefix) {
  if (!prefix.empty()) {
    auto lines = LinePipe::start(prefix);
    if (!lines) return lines.error();
    lines_ = std::move(*lines);
  }
  auto process = launch_agent(command, lines_ ? lines_->fd() : -1);
  if (!process) return process.error();
  if (lines_) lines_->let_go();
  pid_ = process->pid;
  return Ends{std::move(process->from), std::move(process->to)};
}

Result<AgentRun::Ends> AgentRun::start_local(tree::AgentConfig place) {
  auto ends = io::make_socket_pair();
  if (!ends) return ends.error();
  auto our_out = io::duplicate(ends->first.get(), "the local agent");
  if (!our_out) return our_out.error();
  auto its_out = io::duplicate(ends->second.get(), "the local agent");
  if (!its_out) return its_out.error();
  place.program_version = kVersion;
  auto thread = io::Thread::start("the local agent", [in = std::move(ends->second), out = std::move(*its_out),
                                                      place = std::move(place)]() mutable {
    tree::run_agent(std::move(in), std::move(out), place);
  });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return Ends{std::move(ends->first), std::move(*our_out)};
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

void AgentRun::end_process(bool by_force) {
  if (pid_ > 0) {
    if (by_force || !wait_agent(pid_, kFinishGrace)) end_agent(pid_);
    pid_ = -1;
  }
  if (lines_) lines_->finish(by_force);
}

}  // namespace rdcp::cli
