#include "cli/agents/bridge.h"

#include "cli/agents/launch.h"

namespace rdcp::cli {
namespace {

// How long ssh may take to end after both ends have closed their connections.
constexpr std::chrono::milliseconds kEndsByItself{500};

}  // namespace

io::Result<std::unique_ptr<Bridge>> Bridge::start(const std::vector<std::string>& command,
                                                  const std::string& prefix, io::Fd connection) {
  std::unique_ptr<Bridge> bridge(new Bridge());
  auto lines = LinePipe::start(prefix);
  if (!lines) return lines.error();
  bridge->lines_ = std::move(*lines);
  const auto pid = launch_on(command, connection.get(), bridge->lines_->fd());
  if (!pid) return pid.error();
  bridge->lines_->let_go();
  bridge->pid_ = *pid;
  return bridge;
}

std::optional<int> Bridge::ended() {
  if (pid_ > 0) {
    status_ = wait_agent(pid_, std::chrono::milliseconds(0));
    if (status_) pid_ = -1;
  }
  return status_;
}

Bridge::~Bridge() {
  if (pid_ > 0 && !wait_agent(pid_, kEndsByItself)) end_agent(pid_);
  if (lines_) lines_->finish(true);
}

}  // namespace rdcp::cli
