#include "cli/measure_paths.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cli/data_path.h"
#include "tree/measure.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::Transport;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDuration{1000};
constexpr std::chrono::seconds kPatience{60};  // for one transport, connecting included
constexpr std::uint32_t kChunkBytes = 1 << 20;

// The first word of what went wrong at either end.
Result<void> check_problems(AgentLink& link) {
  if (link.problems.empty()) return {};
  const tree::Problem problem = link.problems.front();
  link.problems.clear();
  return io::plain_error(problem.kind, "measure at", link.name(), problem.text);
}

// Takes what both say until `done` holds.
Result<void> wait_until(AgentLink& here, AgentLink& there, const std::function<bool()>& done) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  Clock::time_point next_beat = Clock::now();
  while (!done()) {
    if (Clock::now() >= deadline) {
      return io::plain_error(ErrorKind::connection, "measure to", there.name(), "it took too long");
    }
    std::array<pollfd, 2> watched{pollfd{here.control().fd(), POLLIN, 0},
                                  pollfd{there.control().fd(), POLLIN, 0}};
    ::poll(watched.data(), watched.size(), 100);
    const std::array<AgentLink*, 2> links{&here, &there};
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (watched[i].revents != 0) {
        if (auto received = links[i]->receive(); !received) return received;
      }
      if (auto fine = check_problems(*links[i]); !fine) return fine;
      if (Clock::now() >= next_beat) (void)links[i]->control().send(tree::Beat()).ok();
    }
    if (Clock::now() >= next_beat) next_beat = Clock::now() + tree::kBeatInterval;
  }
  return {};
}

tree::MeasureJob job_for(const Options& options, Transport transport, const net::SessionKey& key) {
  tree::MeasureJob job;
  job.milliseconds = static_cast<std::uint32_t>(kDuration.count());
  job.ring = options.ring;
  job.streams = {tree::Connect::listen, transport, options.via, key};
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

Result<void> measure(const Options& options, AgentLink& here, AgentLink& there, MeasuredPath& measured) {
  auto key = net::make_session_key();
  if (!key) return key.error();
  tree::MeasureJob job = job_for(options, measured.transport, *key);
  for (AgentLink* link : {&here, &there}) {
    link->measure_ready.reset();
    link->measured.reset();
  }
  (void)there.control().send(job).ok();  // who is gone shows when it is read from
  job.source = true;
  job.streams.connect = tree::Connect::connect;
  (void)here.control().send(job).ok();
  const auto ready = [&] { return here.measure_ready && there.measure_ready; };
  if (auto both = wait_until(here, there, ready); !both) return both;

  const auto path =
      choose_data_path(wish_for(options, measured.transport, here, there),
                       {here.name(), here.measure_ready->reach}, {there.name(), there.measure_ready->reach});
  if (!path) return path.error();
  tree::Begin begin = begin_for(*path, there.measure_ready->reach);
  (void)there.control().send(begin).ok();
  (void)here.control().send(begin).ok();
  const auto over = [&] { return here.measured && there.measured; };
  if (auto both = wait_until(here, there, over); !both) return both;
  measured.bytes = here.measured->bytes;
  measured.seconds = static_cast<double>(here.measured->nanoseconds) / 1e9;
  measured.chunk_bytes = path->chunk_bytes;
  measured.streams = here.measured->streams;
  return {};
}

}  // namespace

std::vector<MeasuredPath> measure_paths(const Options& options, AgentLink& here, AgentLink& there) {
  std::vector<MeasuredPath> paths;
  for (const Transport transport : {Transport::rdma, Transport::tcp}) {
    if (options.transport != Transport::automatic && options.transport != transport) continue;
    MeasuredPath& path = paths.emplace_back();
    path.transport = transport;
    const auto measured = measure(options, here, there, path);
    if (!measured) path.failure = measured.error().message();
    if (here.gone || there.gone) break;
  }
  return paths;
}

}  // namespace rdcp::cli
