#include "cli/launch/bridge.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace rdcp::cli {
namespace {

// How long ssh may take to end after both ends have closed their connections.
constexpr std::chrono::milliseconds kEndsByItself{500};

constexpr int kOfSsh = 255;  // ssh(1): how it ends where it could not connect

}  // namespace

io::Result<std::unique_ptr<Bridge>> Bridge::start(const BridgeCommand& command,
                                                  std::optional<BridgeCommand> instead, io::Fd connection) {
  std::unique_ptr<Bridge> bridge(new Bridge());
  if (auto launched = bridge->launch(command, connection.get()); !launched) return launched.error();
  if (instead) {
    bridge->instead_ = std::move(instead);
    bridge->connection_ = std::move(connection);
  }
  return bridge;
}

io::Result<void> Bridge::launch(const BridgeCommand& command, int connection) {
  io::Fd nowhere;
  if (command.prefix) {
    auto lines = LinePipe::start(*command.prefix);
    if (!lines) return lines.error();
    lines_ = std::move(*lines);
  } else {
    nowhere.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  const auto pid = launch_on(command.words, connection, lines_ ? lines_->fd() : nowhere.get(), command.group);
  if (!pid) return pid.error();
  if (lines_) lines_->let_go();
  pid_ = *pid;
  return {};
}

void Bridge::settle() {
  instead_.reset();
  connection_.reset();
}

std::optional<int> Bridge::wait(std::chrono::milliseconds limit) {
  if (pid_ > 0) {
    status_ = wait_agent(pid_, limit);
    if (status_) pid_ = -1;
  }
  if (status_ == kOfSsh && instead_) {  // it has read nothing yet
    const BridgeCommand command = *std::exchange(instead_, std::nullopt);
    const io::Fd connection = std::move(connection_);
    if (launch(command, connection.get())) status_.reset();
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
    bridge->settle();
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    bridge->wait(std::max(left, milliseconds(0)));
  }
}

}  // namespace rdcp::cli
