#include "tree/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <optional>
#include <thread>

#include "net/tcp.h"
#include "net/tcp_connect.h"
#include "tree/control.h"
#include "tree/job.h"
#include "tree/reporter.h"
#include "tree/source.h"
#include "tree/target.h"

namespace rdcp::tree {

using io::ErrorKind;
using io::Result;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kConnectDeadline{20};
// How long a stopped job may take to come to an end.
constexpr std::chrono::seconds kStopGrace{5};

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

class Agent {
 public:
  Agent(io::Fd in, io::Fd out, const AgentPlace& place)
      : place_(place),
        control_(std::move(in), std::move(out), "the coordinator"),
        reporter_([this](const Problem& problem) { tell(problem); }) {}

  bool run();

 private:
  // What can be told of the coordinator being gone is noticed when it is read from.
  template <class Message>
  void tell(const Message& message) {
    const auto sent = control_.send(message);
    if (!sent) stopping_ = true;
  }
  bool serve();
  bool handle(const RawMessage& raw);
  template <class Message>
  std::optional<Message> expect(const RawMessage& raw);
  void start_source(const SourceJob& job);
  void start_target(const TargetJob& job);
  bool listen(Connect connect, const std::string& via, Listening& listening);
  void start_copy(const Begin& begin);
  void copy(const Begin& begin);
  std::optional<std::vector<StreamMaker>> make_streams(const Begin& begin);
  StreamMaker stream_over(net::StreamShape shape, io::Fd socket);
  StreamMaker stream_within(net::StreamShape shape, std::uint16_t index);
  void stop_job();
  bool end_job();
  int next_timeout_ms() const;
  bool coordinator_silent() const;

  const AgentPlace place_;
  ControlChannel control_;
  Reporter reporter_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Target> target_;
  CopySettings settings_;
  Connect connect_ = Connect::connect;
  net::SessionKey key_{};
  std::optional<net::TcpListener> listener_;
  std::thread copy_thread_;
  io::Fd copy_over_fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> copying_{false};
  std::atomic<bool> stopping_{false};
  bool suspended_ = false;
  SteadyClock::time_point heard_ = SteadyClock::now();
  SteadyClock::time_point next_progress_ = SteadyClock::now();
};

bool Agent::run() {
  Hello hello;
  hello.program_version = place_.program_version;
  hello.cpus = std::max(1u, std::thread::hardware_concurrency());
  hello.boot_id = boot_id();
  tell(hello);
  while (serve()) {
  }
  return end_job();
}

int Agent::next_timeout_ms() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_progress_ - SteadyClock::now());
  return static_cast<int>(std::clamp<long>(left.count(), 0, kProgressInterval.count()));
}

// An agent that waits for its first job may wait long: the other host's password is being typed.
bool Agent::coordinator_silent() const {
  return !suspended_ && SteadyClock::now() - heard_ > kSilenceMax;
}

// One round: waits for a message, the end of the copy, a signal or the time for a word of progress. False:
// over.
bool Agent::serve() {
  if (!control_.buffered()) {
    std::array<pollfd, 3> watched{pollfd{control_.fd(), POLLIN, 0}, pollfd{copy_over_fd_.get(), POLLIN, 0},
                                  pollfd{place_.signal_fd, POLLIN, 0}};
    const int n = ::poll(watched.data(), watched.size(), next_timeout_ms());
    if (n < 0 && errno != EINTR) return false;
    if (watched[2].revents != 0) return false;
    if (watched[1].revents != 0) {
      std::uint64_t count = 0;
      while (::read(copy_over_fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
      }
      tell(source_ ? source_->result() : target_->result());
    }
    if (SteadyClock::now() >= next_progress_) {
      next_progress_ = SteadyClock::now() + kProgressInterval;
      tell(source_ ? source_->progress() : Progress());
    }
    if (stopping_ || coordinator_silent()) return false;
    if (watched[0].revents == 0) return true;
  }
  const auto message = control_.receive();
  if (!message) return false;
  if (!*message) return true;
  heard_ = SteadyClock::now();
  suspended_ = false;
  return handle(**message);
}

template <class Message>
std::optional<Message> Agent::expect(const RawMessage& raw) {
  auto message = control_.decode<Message>(raw);
  if (message) return std::move(*message);
  reporter_.fatal(message.error());
  return std::nullopt;
}

bool Agent::handle(const RawMessage& raw) {
  switch (raw.type) {
    case MessageType::ping:
      tell(Pong());
      return true;
    case MessageType::beat:
      return true;
    case MessageType::suspend:
      suspended_ = true;
      return true;
    case MessageType::source_job: {
      const auto job = expect<SourceJob>(raw);
      if (job && !source_ && !target_) start_source(*job);
      return job.has_value();
    }
    case MessageType::target_job: {
      const auto job = expect<TargetJob>(raw);
      if (job && !source_ && !target_) start_target(*job);
      return job.has_value();
    }
    case MessageType::begin: {
      const auto begin = expect<Begin>(raw);
      if (begin && (source_ || target_) && !copy_thread_.joinable()) start_copy(*begin);
      return begin.has_value();
    }
    case MessageType::abort:
      reporter_.silence();
      return false;
    case MessageType::finish:
      return false;
    default:
      reporter_.fatal(io::plain_error(ErrorKind::protocol, "control message from", "the coordinator",
                                      "is of a kind unknown here"));
      return false;
  }
}

// Opens the port for the streams where this side listens. False: reported.
bool Agent::listen(Connect connect, const std::string& via, Listening& listening) {
  connect_ = connect;
  if (connect != Connect::listen) return true;
  auto hosts = net::own_addresses(via);
  auto listener = net::TcpListener::open(via.empty() || !hosts ? std::string() : hosts->front());
  if (!hosts || !listener) {
    reporter_.fatal(hosts ? listener.error() : hosts.error());
    return false;
  }
  listening.hosts = std::move(*hosts);
  listening.port = listener->port();
  listener_.emplace(std::move(*listener));
  return true;
}

void Agent::start_source(const SourceJob& job) {
  settings_ = job.settings;
  key_ = job.key;
  source_ = std::make_unique<Source>(job, reporter_);
  SourceReady ready;
  ready.sources = source_->open();
  if (!listen(job.connect, job.via, ready.listening)) return;
  source_->start_walk();
  tell(ready);
}

void Agent::start_target(const TargetJob& job) {
  settings_ = job.settings;
  key_ = job.key;
  target_ = std::make_unique<Target>(job, reporter_);
  TargetReady ready = target_->open();
  if (listen(job.connect, job.via, ready.listening)) tell(ready);
}

void Agent::start_copy(const Begin& begin) {
  copying_ = true;
  copy_thread_ = std::thread([this, begin] {
    copy(begin);
    copying_ = false;
    const std::uint64_t one = 1;
    while (::write(copy_over_fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  });
}

void Agent::copy(const Begin& begin) {
  if (source_) source_->set_landings(begin.landings);
  if (target_) {
    const auto begun = target_->begin(begin);
    if (!begun) {
      reporter_.fatal(begun.error());
      return;
    }
  }
  const auto streams = make_streams(begin);
  if (!streams) return;
  if (source_) source_->copy(*streams, begin.target_slots);
  if (target_) target_->copy(*streams, begin.target_slots);
}

// The job's connections, as something each worker makes its stream of. None: reported.
std::optional<std::vector<StreamMaker>> Agent::make_streams(const Begin& begin) {
  const net::StreamShape shape{.target_slots = begin.target_slots, .slot_bytes = settings_.chunk_bytes};
  std::vector<StreamMaker> makers;
  if (connect_ == Connect::in_process) {
    for (std::uint16_t i = 0; i < begin.streams; ++i) makers.push_back(stream_within(shape, i));
    return makers;
  }
  const net::TcpOptions options{.congestion = settings_.congestion};
  std::vector<net::Address> addresses;
  for (const std::string& host : begin.hosts) addresses.push_back({host, begin.port});
  auto sockets = listener_
                     ? listener_->accept_all(key_, begin.streams, kConnectDeadline, stopping_, options)
                     : net::connect_all(addresses, key_, begin.streams, kConnectDeadline, stopping_, options);
  if (!sockets) {
    reporter_.fatal(sockets.error());
    return std::nullopt;
  }
  for (io::Fd& socket : *sockets) makers.push_back(stream_over(shape, std::move(socket)));
  return makers;
}

StreamMaker Agent::stream_over(net::StreamShape shape, io::Fd socket) {
  auto held = std::make_shared<io::Fd>(std::move(socket));
  const bool source = source_ != nullptr;
  return [=](io::Ring& ring, io::Arena& arena) {
    return source ? net::make_tcp_source(ring, std::move(*held), shape)
                  : net::make_tcp_target(ring, std::move(*held), shape, arena);
  };
}

StreamMaker Agent::stream_within(net::StreamShape shape, std::uint16_t index) {
  auto channel = place_.local->channel(index);
  const bool source = source_ != nullptr;
  return [=](io::Ring& ring, io::Arena& arena) {
    return source ? net::make_memory_source(ring, channel, shape)
                  : net::make_memory_target(ring, channel, shape, arena);
  };
}

void Agent::stop_job() {
  reporter_.silence();
  stopping_ = true;
  if (source_) source_->stop();
  if (target_) target_->stop();
}

bool Agent::end_job() {
  stop_job();
  const auto deadline = SteadyClock::now() + kStopGrace;
  while (copying_ && SteadyClock::now() < deadline) {
    pollfd over{copy_over_fd_.get(), POLLIN, 0};
    ::poll(&over, 1, 100);
  }
  if (copying_) {
    copy_thread_.detach();
    return false;
  }
  if (copy_thread_.joinable()) copy_thread_.join();
  source_.reset();
  target_.reset();
  return true;
}

}  // namespace

bool run_agent(io::Fd in, io::Fd out, const AgentPlace& place) {
  // On the heap: when a part of the job hangs in the kernel, the agent is left to it.
  auto agent = std::make_unique<Agent>(std::move(in), std::move(out), place);
  const bool ended = agent->run();
  if (!ended) agent.release();
  return ended;
}

}  // namespace rdcp::tree
