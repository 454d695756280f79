// Memory to memory through a real stream, two threads in one process:
//
//   stream_bench [MIB [SLOT_KIB [SLOTS [rdma|tcp]]]]
//
// prints MiB/s of RDMA over the first device, where there is one, and of TCP over the loopback interface.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <string_view>
#include <thread>

#include "net/rdma/rdma.h"
#include "net/tcp/tcp.h"
#include "net/tcp/tcp_connect.h"

namespace {

using namespace rdcp;
using net::Stream;
using net::StreamShape;

template <class T>
T must(io::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "stream_bench: %s\n", result.error().message().c_str());
  std::exit(1);
}

struct Run {
  StreamShape shape;
  std::size_t chunks;
};

struct Source {
  Stream& stream;
  io::Arena& arena;
  std::size_t chunks;
  std::size_t loops_alive = 0;
  std::vector<io::Task> tasks{};
};

// The tree layer's loops without files and digests.
io::Task source_loop(Source& side, std::size_t loop) {
  const auto payload = side.arena.slot(loop);
  net::Frame frame;
  frame.kind = net::FrameKind::data;
  frame.length = static_cast<std::uint32_t>(payload.size());
  while (side.chunks > 0) {
    --side.chunks;
    const auto slot = co_await side.stream.credit();
    if (!slot) break;
    frame.slot = *slot;
    const auto sent = co_await side.stream.send(frame, payload);
    if (!sent) break;
    const auto answer = co_await side.stream.acknowledged(*slot);
    if (!answer) break;
  }
  if (--side.loops_alive == 0) {
    const auto ended = co_await side.stream.send(net::Frame{}, {});
    if (!ended) std::fprintf(stderr, "%s\n", ended.error().message().c_str());
  }
}

io::Task target_loop(Stream& stream) {
  while (true) {
    const auto frame = co_await stream.receive();
    if (!frame || !*frame) break;
    stream.release((*frame)->slot, net::AckStatus::done);
  }
}

void drive(io::Ring& ring, Stream& stream, std::span<const io::Task> tasks) {
  const auto busy = [](const io::Task& task) { return !task.done(); };
  auto next_check = io::Clock::now();
  while (!stream.idle() || std::ranges::any_of(tasks, busy)) {
    if (!ring.run_once(std::chrono::milliseconds(500))) return;
    if (io::Clock::now() < next_check) continue;
    stream.check_connection(io::Clock::now());
    next_check = io::Clock::now() + std::chrono::seconds(1);
  }
  if (stream.why_shut()) std::fprintf(stderr, "%s\n", stream.why_shut()->message().c_str());
}

using MakeStream = std::function<std::unique_ptr<Stream>(io::Ring&, io::Arena&)>;

void run_target(const Run& run, const MakeStream& make) {
  auto ring = must(io::make_ring(io::RingChoice::automatic, 32));
  auto arena = must(io::Arena::create(run.shape.target_slots, run.shape.slot_bytes));
  const auto stream = make(*ring, arena);
  std::vector<io::Task> tasks;
  for (std::size_t i = 0; i < run.shape.target_slots; ++i) tasks.push_back(target_loop(*stream));
  stream->start();
  for (io::Task& task : tasks) task.start();
  drive(*ring, *stream, tasks);
}

void run_source(const Run& run, const MakeStream& make) {
  auto ring = must(io::make_ring(io::RingChoice::automatic, 32));
  auto arena = must(io::Arena::create(run.shape.target_slots, run.shape.slot_bytes));
  const auto stream = make(*ring, arena);
  Source source{*stream, arena, run.chunks, run.shape.target_slots};
  for (std::size_t i = 0; i < run.shape.target_slots; ++i) source.tasks.push_back(source_loop(source, i));
  const auto before = io::Clock::now();
  stream->start();
  for (io::Task& task : source.tasks) task.start();
  drive(*ring, *stream, source.tasks);
  const std::chrono::duration<double> took = io::Clock::now() - before;
  const double mib = static_cast<double>(run.chunks * run.shape.slot_bytes) / (1 << 20);
  std::printf("%8.1f MiB/s  %s\n", mib / took.count(), stream->description().c_str());
}

void measure(const Run& run, const MakeStream& source, const MakeStream& target) {
  std::thread other([&] { run_target(run, target); });
  run_source(run, source);
  other.join();
}

void measure_tcp(const Run& run) {
  const net::SessionKey key = must(net::make_session_key());
  const std::atomic<bool> stop = false;
  constexpr std::chrono::seconds kDeadline{20};
  auto listener = must(net::TcpListener::open("127.0.0.1"));
  auto accepted =
      std::async(std::launch::async, [&] { return listener.accept_all(key, 1, kDeadline, stop, {}); });
  auto here = must(net::connect_all({{"127.0.0.1", listener.port()}}, {key, kDeadline, stop}, 1));
  auto there = must(accepted.get());
  measure(
      run,
      [&](io::Ring& ring, io::Arena&) {
        return net::make_tcp_source(ring, std::move(here[0].fd), run.shape);
      },
      [&](io::Ring& ring, io::Arena& arena) {
        return net::make_tcp_target(ring, std::move(there[0].fd), run.shape, arena);
      });
}

void measure_rdma(const Run& run) {
  std::vector<net::RdmaPort> ports = net::own_rdma_ports().usable;
  std::erase_if(ports, [](const net::RdmaPort& port) { return port.by_hand(); });
  if (ports.empty()) return;
  const net::SessionKey key = must(net::make_session_key());
  const std::atomic<bool> stop = false;
  const auto call = [&](bool source) {
    return net::RdmaCall{key, 1, run.shape.target_slots, source, std::chrono::seconds(20), stop};
  };
  auto listener = must(net::RdmaListener::open(ports));
  auto accepted = std::async(std::launch::async, [&] { return listener.accept_all(call(false)); });
  auto here = must(net::connect_rails({{ports[0], ports[0]}}, call(true)));
  auto there = must(accepted.get());
  measure(
      run,
      [&](io::Ring& ring, io::Arena& arena) {
        return net::make_rdma_source(ring, std::move(here.connections[0]), run.shape, arena);
      },
      [&](io::Ring& ring, io::Arena& arena) {
        return net::make_rdma_target(ring, std::move(there[0]), run.shape, arena);
      });
}

std::size_t argument(int count, char** values, int index, std::size_t otherwise) {
  return index < count ? std::strtoul(values[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int count, char** values) {
  const std::size_t bytes = argument(count, values, 1, 256) << 20;
  const std::size_t slot_bytes = argument(count, values, 2, 1024) << 10;
  const auto slots = static_cast<std::uint32_t>(argument(count, values, 3, 8));
  const Run run{{slots, slot_bytes}, std::max<std::size_t>(1, bytes / slot_bytes)};
  const std::string_view which = count > 4 ? values[4] : "";
  if (which != "tcp") measure_rdma(run);
  if (which != "rdma") measure_tcp(run);
}
