#include "cli/inspect/measure_paths.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "cli/agents/pair_relay.h"
#include "cli/layout/data_path.h"
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

// One end of a measurement, and what it has said.
struct End {
  explicit End(AgentSession& session) : session(session) {
    session.on<tree::MeasureReady>([this](const tree::MeasureReady& said) { ready = said; });
    session.on<tree::Measured>([this](const tree::Measured& said) { measured = said; });
  }

  AgentSession& session;
  std::optional<tree::MeasureReady> ready;
  std::optional<tree::Measured> measured;
};

// Measures between two agents.
class Measurement {
 public:
  Measurement(const Options& options, Inquiry& inquiry, AgentSession& here, AgentSession& there)
      : options_(options), inquiry_(inquiry), here_(here), there_(there) {
    pairs_.join(here, 0, there);
  }
  Result<void> run(MeasuredPath& path);
  bool agent_gone() const { return here_.session.gone() || there_.session.gone(); }

 private:
  Result<void> wait_until(const std::function<bool()>& done);
  DataPathWish wish_for(Transport transport) const;
  void mark_packets(End& end, MeasuredPath& path);

  const Options& options_;
  Inquiry& inquiry_;
  End here_;
  End there_;
  PairRelay pairs_;
};

Result<void> Measurement::wait_until(const std::function<bool()>& done) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  const auto over = [&] { return Clock::now() >= deadline; };
  auto waited = inquiry_.wait_for({&here_.session, &there_.session}, [&] { return done() || over(); });
  if (!waited || done()) return waited;
  return io::plain_error(ErrorKind::connection, "measure to", there_.session.name(), "it took too long");
}

tree::MeasureJob job_for(const Options& options, Transport transport, const net::SessionKey& key) {
  tree::MeasureJob job;
  job.milliseconds = static_cast<std::uint32_t>(kDuration.count());
  job.ring = options.ring;
  job.streams.connect = tree::Connect::listen;
  job.streams.transport = transport;
  job.streams.via = options.via;
  job.streams.port = options.data_port;
  job.streams.port_last = options.data_port_last;
  job.streams.key = key;
  job.streams.encrypt = net::Sealing::never;
  job.streams.compress = net::kCompressOff;
  return job;
}

DataPathWish Measurement::wish_for(Transport transport) const {
  DataPathWish wish;
  wish.transport = transport;
  wish.via = options_.via;
  wish.port = options_.data_port;
  wish.streams = options_.streams;
  wish.chunk_bytes =
      options_.chunk_bytes != 0 ? static_cast<std::uint32_t>(options_.chunk_bytes) : kChunkBytes;
  wish.cpus = std::min(here_.session.hello()->cpus, there_.session.hello()->cpus);
  return wish;
}

// Has an end mark its packets, if --tos says so and it knows how.
void Measurement::mark_packets(End& end, MeasuredPath& path) {
  path.traffic_class = options_.traffic_class;
  if (!options_.traffic_class) return;
  if (end.session.hello()->protocol >= tree::MarkPackets::kFirstProtocol)
    return end.session.tell(tree::MarkPackets{*options_.traffic_class});
  path.notes.push_back(end.session.name() + ": its rdcp does not know --tos, and marks no packets");
}

Result<void> Measurement::run(MeasuredPath& path) {
  auto key = net::make_session_key();
  if (!key) return key.error();
  tree::MeasureJob job = job_for(options_, path.transport, *key);
  for (End* end : {&here_, &there_}) {
    end->ready.reset();
    end->measured.reset();
  }
  there_.session.tell(job);  // an agent that is gone shows when it is read from
  job.source = true;
  job.streams.connect = tree::Connect::connect;
  here_.session.tell(job);
  if (auto both = wait_until([this] { return here_.ready && there_.ready; }); !both) return both;

  const tree::Reach& here = here_.ready->reach;
  const tree::Reach& there = there_.ready->reach;
  path.reachable =
      path.transport == Transport::tcp || (!here.rdma.usable.empty() && !there.rdma.usable.empty());
  const auto chosen = choose_data_path(wish_for(path.transport), {here_.session.name(), here},
                                       {there_.session.name(), there});
  if (!chosen) {
    // The lack of RDMA is not a failure of an operation.
    if (!path.reachable) path.failure = "not possible: " + chosen.error().detail;
    return chosen.error();
  }
  for (End* end : {&here_, &there_}) mark_packets(*end, path);
  const tree::Begin begin = begin_for(*chosen, there, here_.session.hello()->protocol);
  for (End* end : {&here_, &there_}) {
    if (!options_.numa && end->session.hello()->protocol >= tree::LeavePlacement::kFirstProtocol)
      end->session.tell(tree::LeavePlacement());
  }
  there_.session.tell(begin);
  here_.session.tell(begin);
  if (auto both = wait_until([this] { return here_.measured && there_.measured; }); !both) return both;
  path.bytes = here_.measured->bytes;
  path.seconds = static_cast<double>(here_.measured->nanoseconds) / 1e9;
  path.chunk_bytes = chosen->chunk_bytes;
  path.streams = here_.measured->streams;
  for (const End* end : {&here_, &there_}) {
    for (const io::Words& note : end->measured->notes)
      path.notes.push_back(end->session.name() + ": " + note);
  }
  return {};
}

}  // namespace

std::vector<MeasuredPath> measure_paths(const Options& options, Inquiry& inquiry, AgentSession& here,
                                        AgentSession& there) {
  std::vector<MeasuredPath> paths;
  inquiry.now("measure at");
  Measurement measurement(options, inquiry, here, there);
  for (const Transport transport : {Transport::rdma, Transport::tcp}) {
    if (options.transport != Transport::automatic && options.transport != transport) continue;
    MeasuredPath& path = paths.emplace_back();
    path.transport = transport;
    const auto measured = measurement.run(path);
    if (measured) continue;
    if (path.failure.empty()) path.failure = measured.error().message();
    if (measurement.agent_gone() || measured.error().kind == ErrorKind::interrupted) break;
  }
  return paths;
}

}  // namespace rdcp::cli
