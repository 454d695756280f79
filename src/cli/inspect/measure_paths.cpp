#include "cli/inspect/measure_paths.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cli/copy/data_path.h"
#include "tree/messages/measure_job.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::Transport;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDuration{1000};
constexpr std::chrono::seconds kPatience{60};  // for one transport, connecting included
constexpr std::uint32_t kChunkBytes = 1 << 20;

// Returns the first problem that an agent has reported, as an error.
Result<void> check_problems(AgentLink& link) {
  const std::vector<tree::Problem> problems = link.problems.take();
  if (problems.empty()) return {};
  const tree::Problem& problem = problems.front();
  return io::plain_error(problem.kind, "measure at", link.name(), problem.text);
}

// Receives what both agents say.
class Conversation {
 public:
  Conversation(AgentLink& here, AgentLink& there, int signal_fd)
      : links_{&here, &there}, signal_fd_(signal_fd) {}
  Result<void> wait_until(const std::function<bool()>& done);

 private:
  Result<void> turn();

  const std::array<AgentLink*, 2> links_;
  const int signal_fd_;
  Clock::time_point next_beat_{};
};

Result<void> Conversation::wait_until(const std::function<bool()>& done) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!done()) {
    if (Clock::now() >= deadline) {
      return io::plain_error(ErrorKind::connection, "measure to", links_[1]->name(), "it took too long");
    }
    if (auto turned = turn(); !turned) return turned;
  }
  return {};
}

Result<void> Conversation::turn() {
  constexpr int kLookEveryMs = 500;
  std::array<pollfd, 3> watched{pollfd{links_[0]->control().fd(), POLLIN, 0},
                                pollfd{links_[1]->control().fd(), POLLIN, 0}, pollfd{signal_fd_, POLLIN, 0}};
  if (::poll(watched.data(), watched.size(), kLookEveryMs) < 0 && errno != EINTR) {
    return io::errno_error("poll", "agents", errno, ErrorKind::connection);
  }
  if (watched[2].revents != 0) {
    return io::plain_error(ErrorKind::interrupted, "measure to", links_[1]->name(), "a signal came");
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (watched[i].revents != 0) {
      if (auto received = links_[i]->receive(); !received) return received;
    }
    if (auto fine = check_problems(*links_[i]); !fine) return fine;
  }
  if (Clock::now() < next_beat_) return {};
  next_beat_ = Clock::now() + tree::kBeatInterval;
  for (AgentLink* link : links_) link->tell(tree::Beat());
  return {};
}

tree::MeasureJob job_for(const Options& options, Transport transport, const net::SessionKey& key) {
  tree::MeasureJob job;
  job.milliseconds = static_cast<std::uint32_t>(kDuration.count());
  job.ring = options.ring;
  job.streams = {tree::Connect::listen, transport, options.via, 0, key, false, net::kCompressOff};
  return job;
}

DataPathWish wish_for(const Options& options, Transport transport, const AgentLink& here,
                      const AgentLink& there) {
  DataPathWish wish;
  wish.transport = transport;
  wish.via = options.via;
  wish.streams = options.streams;
  wish.chunk_bytes = options.chunk_bytes != 0 ? static_cast<std::uint32_t>(options.chunk_bytes) : kChunkBytes;
  wish.cpus = std::min(here.hello->cpus, there.hello->cpus);
  return wish;
}

Result<void> measure(const Options& options, AgentLink& here, AgentLink& there, int signal_fd,
                     MeasuredPath& measured) {
  Conversation conversation(here, there, signal_fd);
  auto key = net::make_session_key();
  if (!key) return key.error();
  tree::MeasureJob job = job_for(options, measured.transport, *key);
  for (AgentLink* link : {&here, &there}) {
    link->measure_ready.reset();
    link->measured.reset();
  }
  there.tell(job);  // an agent that is gone shows when it is read from
  job.source = true;
  job.streams.connect = tree::Connect::connect;
  here.tell(job);
  const auto ready = [&] { return here.measure_ready && there.measure_ready; };
  if (auto both = conversation.wait_until(ready); !both) return both;

  measured.reachable =
      measured.transport == Transport::tcp ||
      (!here.measure_ready->reach.rdma.usable.empty() && !there.measure_ready->reach.rdma.usable.empty());
  const auto path =
      choose_data_path(wish_for(options, measured.transport, here, there),
                       {here.name(), here.measure_ready->reach}, {there.name(), there.measure_ready->reach});
  if (!path) return path.error();
  tree::Begin begin = begin_for(*path, there.measure_ready->reach);
  there.tell(begin);
  here.tell(begin);
  const auto over = [&] { return here.measured && there.measured; };
  if (auto both = conversation.wait_until(over); !both) return both;
  measured.bytes = here.measured->bytes;
  measured.seconds = static_cast<double>(here.measured->nanoseconds) / 1e9;
  measured.chunk_bytes = path->chunk_bytes;
  measured.streams = here.measured->streams;
  return {};
}

}  // namespace

std::vector<MeasuredPath> measure_paths(const Options& options, AgentLink& here, AgentLink& there,
                                        int signal_fd) {
  std::vector<MeasuredPath> paths;
  for (const Transport transport : {Transport::rdma, Transport::tcp}) {
    if (options.transport != Transport::automatic && options.transport != transport) continue;
    MeasuredPath& path = paths.emplace_back();
    path.transport = transport;
    const auto measured = measure(options, here, there, signal_fd, path);
    if (measured) continue;
    path.failure = measured.error().message();
    if (here.gone || there.gone || measured.error().kind == ErrorKind::interrupted) break;
  }
  return paths;
}

}  // namespace rdcp::cli
