#include "cli/agents/bridge.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "cli/agents/launch.h"

namespace rdcp::cli {
namespace {

// How long ssh may take to end after both ends have closed their connections.
constexpr std::chrono::milliseconds kEndsByItself{500};

}  // namespace

io::Result<std::unique_ptr<Bridge>> Bridge::start(const std::vector<std::string>& command,
                                                  const std::optional<std::string>& prefix,
                                                  io::Fd connection) {
  std::unique_ptr<Bridge> bridge(new Bridge());
  io::Fd nowhere;
  if (prefix) {
    auto lines = LinePipe::start(*prefix);
    if (!lines) return lines.error();
    bridge->lines_ = std::move(*lines);
  } else {
    nowhere.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  const auto pid = launch_on(command, connection.get(), prefix ? bridge->lines_->fd() : nowhere.get());
  if (!pid) return pid.error();
  if (prefix) bridge->lines_->let_go();
  bridge->pid_ = *pid;
  return bridge;
}

std::optional<int> Bridge::wait(std::chrono::milliseconds limit) {
  if (pid_ > 0) {
    status_ = wait_agent(pid_, limit);
    if (status_) pid_ = -1;
  }
  return status_;
}

Bridge::~Bridge() {
  if (pid_ > 0) end_agent(pid_);
  if (lines_) lines_->finish(true);
}

void end_bridges(std::vector<std::unique_ptr<Bridge>> bridges) {
  using std::chrono::milliseconds, std::chrono::steady_clock;
  const auto until = steady_clock::now() + kEndsByItself;
  for (const auto& bridge : bridges) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    bridge->wait(std::max(left, milliseconds(0)));
  }
}

}  // namespace rdcp::cli
