#include "tree/pipe/segment.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "io/descriptors.h"
#include "io/retry.h"
#include "io/thread.h"
#include "tree/agent/agent.h"
#include "tree/guards/orders.h"
#include "tree/pipe/command.h"
#include "tree/pipe/file_word.h"
#include "tree/pipe/relay.h"
#include "tree/protocol/control.h"
#include "tree/sandbox/sandbox.h"

namespace rdcp::tree {

using io::Result;
using Clock = std::chrono::steady_clock;

namespace {

// Runs one of the segment's agents in a thread of its own.
class Side {
 public:
  // A control channel that is gone shows when it is read from.
  Side(ControlChannel& control, RelayChannel channel)
      : relay_([&control](const RelayedBytes& bytes) { (void)control.send(bytes).ok(); }, channel) {}
  ~Side() { stop(); }

  Result<void> start(AgentConfig config) {
    auto end = relay_.open();
    if (!end) return end.error();
    auto over = io::Event::create();
    if (!over) return over.error();
    auto out = io::duplicate(end->get(), "a relay");
    if (!out) return out.error();
    config.tell = [this](const Problem& problem) {
      if (problem.kind == io::ErrorKind::reader_gone) reader_gone_ = true;
    };
    over_event_ = std::move(*over);
    auto thread = io::Thread::start("a segment's agent", [this, in = std::move(*end), out = std::move(*out),
                                                          config = std::move(config)]() mutable {
      end_ = run_agent(std::move(in), std::move(out), config);
      over_ = true;
      over_event_.signal();
    });
    if (!thread) return thread.error();
    thread_ = std::move(*thread);
    return {};
  }
  // The agent sees that its coordinator is gone, and ends within a time that it bounds itself.
  void stop() {
    relay_.close();
    thread_.join();
  }

  Relay& relay() { return relay_; }
  bool started() const { return thread_.joinable(); }
  bool over() const { return over_; }
  int over_fd() const { return over_event_.fd(); }
  // To be called once over().
  bool whole() const { return end_.status == 0 && end_.done && end_.done->complete; }
  bool reader_gone() const { return reader_gone_; }
  bool hangs() const { return over_ && !end_.complete; }

 private:
  Relay relay_;
  io::Event over_event_;
  io::Thread thread_;
  AgentEnd end_;
  std::atomic<bool> over_{false};
  std::atomic<bool> reader_gone_{false};
};

struct Pipe {
  io::Fd read;
  io::Fd write;
};

// Makes a pipe whose end on our side does not block: an agent that is told to stop must not hang in it.
Result<Pipe> make_pipe(bool we_write) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io::errno_error("make", "a pipe");
  const int ours = ends[we_write ? 1 : 0];
  Pipe pipe{io::Fd(ends[0]), io::Fd(ends[1])};
  if (::fcntl(ours, F_SETFL, ::fcntl(ours, F_GETFL) | O_NONBLOCK) != 0)
    return io::errno_error("make", "a pipe");
  io::enlarge_pipe(ours);
  return pipe;
}

class Segment {
 public:
  Segment(const SegmentJob& job, ControlChannel& control, const AgentConfig& config)
      : job_(job),
        control_(control),
        config_(config),
        sandbox_(config.confinement != Confinement::none),
        input_(control, RelayChannel::input),
        output_(control, RelayChannel::output) {}
  bool run();

 private:
  Result<void> start();
  Result<void> start_command();
  Result<void> start_file();
  Result<void> start_input(ReceiveOnlyPolicy only, int output);
  Result<void> start_output(int input, bool by_extents, const std::string& name);
  bool turn();
  bool take_messages();
  bool handle(const RawMessage& raw);
  void look_at_input();
  void look_at_output();
  void look_at_command();
  void tell_end(int status, const std::string& problem = {});
  void stop();

  const SegmentJob& job_;
  ControlChannel& control_;
  const AgentConfig& config_;
  std::unique_ptr<Command> command_;
  io::Fd to_command_;
  io::Fd from_command_;
  // The end of the command's output is passed on only when its status is known to be 0: until then this keeps
  // the pipe open.
  io::Fd held_output_;
  io::Fd file_;
  Sandbox sandbox_;
  Side input_;
  Side output_;
  bool told_ = false;
  bool ended_by_us_ = false;
  bool finished_ = false;  // the coordinator has said finish
  Clock::time_point heard_ = Clock::now();
  Clock::time_point next_beat_ = Clock::now();
};

bool Segment::run() {
  if (auto started = start(); !started) {
    ended_by_us_ = false;
    tell_end(1, started.error().message());
  }
  while (turn()) {
  }
  stop();
  return !input_.hangs() && !output_.hangs();
}

Result<void> Segment::start() {
  return job_.kind == SegmentKind::command ? start_command() : start_file();
}

Result<void> Segment::start_command() {
  io::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Pipe in;
  Pipe out;
  if (job_.has_input) {
    auto made = make_pipe(true);
    if (!made) return made.error();
    in = std::move(*made);
  }
  if (job_.has_output) {
    auto made = make_pipe(false);
    if (!made) return made.error();
    out = std::move(*made);
  }
  auto command =
      Command::start(job_.text, job_.has_input ? in.read.get() : nothing.get(),
                     job_.has_output ? out.write.get() : nothing.get(), config_.umask, in.write.get());
  if (!command) return command.error();
  command_ = std::move(*command);
  // The command may do what its user may. Both agents, and this process, cannot from here on.
  if (auto confined = sandbox_.enter({.signals_others = true, .any_tcp = true}); !confined) return confined;
  if (auto watched = command_->watch(); !watched) return watched;
  to_command_ = std::move(in.write);
  from_command_ = std::move(out.read);
  held_output_ = std::move(out.write);
  if (job_.has_input) {
    if (auto started = start_input({}, to_command_.get()); !started) return started;
  }
  return job_.has_output ? start_output(from_command_.get(), false, "output of the command") : Result<void>();
}

// Without input, a file to be written is made or touched; without output, a file to be read is only opened.
Result<void> Segment::start_file() {
  const auto word = file_of_word(job_.text, config_.umask);
  if (!word) return word.error();
  const std::string& path = *word;
  const mode_t mode = 0666 & ~config_.umask;
  if (job_.kind == SegmentKind::write_file && job_.has_input) {
    struct stat status {};
    if (path.ends_with('/') || (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))) {
      return io::errno_error("write", path, EISDIR);
    }
    ReceiveOnlyPolicy only;
    // A symlink is followed, as a shell does.
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    only.path = real != nullptr ? real.get() : path;
    only.mode = mode;
    const auto place = place_of_stream(only.path);
    if (!place) return place.error();
    const SandboxTerms terms{.writes = {{place->fd.get(), place->name}}, .any_tcp = true};
    if (auto confined = sandbox_.enter(terms); !confined) return confined;
    return start_input(std::move(only), STDOUT_FILENO);
  }
  const int flags = job_.kind == SegmentKind::read_file    ? O_RDONLY
                    : job_.kind == SegmentKind::write_file ? O_WRONLY | O_CREAT | O_TRUNC
                                                           : O_WRONLY | O_CREAT | O_APPEND;
  file_.reset(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode));
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) return io::errno_error("open", path);
  if (S_ISDIR(status.st_mode)) return io::errno_error("read", path, EISDIR);
  if (auto confined = sandbox_.enter({.any_tcp = true}); !confined) return confined;
  if (job_.kind == SegmentKind::read_file) {
    if (job_.has_output) return start_output(file_.get(), true, path);
  } else if (job_.has_input) {
    return start_input({}, file_.get());
  } else {
    (void)::futimens(file_.get(), nullptr);
  }
  tell_end(0);
  return {};
}

Result<void> Segment::start_input(ReceiveOnlyPolicy only, int output) {
  AgentConfig config{.program_version = config_.program_version, .confinement = Confinement::by_caller};
  only.streams_as_told = true;
  config.only = std::move(only);
  config.standard.output = output;
  config.standard.output_name = command_ ? "to the command" : job_.text;
  return input_.start(std::move(config));
}

Result<void> Segment::start_output(int input, bool by_extents, const std::string& name) {
  AgentConfig config{.program_version = config_.program_version, .confinement = Confinement::by_caller};
  config.standard.input = input;
  config.standard.input_by_extents = by_extents;
  config.standard.input_name = name;
  return output_.start(std::move(config));
}

// Runs one round of the loop. Returns false if the segment is over.
bool Segment::turn() {
  std::array<pollfd, 7> watched{
      pollfd{control_.fd(), POLLIN, 0},
      {config_.signal_fd, POLLIN, 0},
      {input_.relay().fd(), POLLIN, 0},
      {output_.relay().fd(), POLLIN, 0},
      {input_.started() && !input_.over() ? input_.over_fd() : -1, POLLIN, 0},
      {output_.started() && !output_.over() ? output_.over_fd() : -1, POLLIN, 0},
      {command_ && !command_->status() ? command_->ended_fd() : -1, POLLIN, 0},
  };
  const int timeout_ms = control_.buffered() ? 0 : 1000;
  if (!io::wait_for_events(watched, timeout_ms)) return false;
  if (watched[1].revents != 0 || Clock::now() - heard_ > kSilenceMax) return false;
  if (watched[2].revents != 0) input_.relay().forward();
  if (watched[3].revents != 0) output_.relay().forward();
  look_at_input();
  look_at_output();
  look_at_command();
  if (Clock::now() >= next_beat_) {
    next_beat_ = Clock::now() + kBeatInterval;
    if (!control_.send(Beat())) return false;
  }
  return (watched[0].revents == 0 && !control_.buffered()) || take_messages();
}

bool Segment::take_messages() {
  do {
    const auto message = control_.receive();
    if (!message) return false;
    heard_ = Clock::now();
    if (*message && !handle(**message)) return false;
  } while (control_.buffered());
  return true;
}

bool Segment::handle(const RawMessage& raw) {
  if (!may_order(raw.type, AgentState::segment, false)) return false;
  switch (raw.type) {
    case MessageType::relayed_bytes: {
      const auto relayed = control_.decode<RelayedBytes>(raw);
      if (!relayed) return false;
      Side& side = relayed->channel == RelayChannel::input ? input_ : output_;
      side.relay().deliver(relayed->bytes);
      return true;
    }
    case MessageType::finish:
      finished_ = true;
      return false;
    case MessageType::beat:
      return true;
    default:
      return false;
  }
}

// Only a whole stream ends with an end of file. A command whose input is cut short is ended before it could
// take that for the end of its input; a command that has closed its input itself goes on.
void Segment::look_at_input() {
  if (!input_.started() || !input_.over()) return;
  if (command_ && to_command_ && !input_.whole() && !input_.reader_gone()) {
    ended_by_us_ = ended_by_us_ || !command_->status();
    command_->end();
  }
  if (command_ && to_command_) command_->end_input();
  to_command_.reset();
  if (!command_) tell_end(0);
}

// Once the output's agent has ended, nobody reads what the command still writes. Closing the pipe tells it
// so.
void Segment::look_at_output() {
  if (!output_.started() || !output_.over()) return;
  from_command_.reset();
  if (!command_) tell_end(0);
}

void Segment::look_at_command() {
  if (!command_ || !command_->status()) return;
  if (*command_->status() == 0) held_output_.reset();
  tell_end(*command_->status());
}

void Segment::tell_end(int status, const std::string& problem) {
  if (std::exchange(told_, true)) return;
  SegmentEnd end;
  end.status = static_cast<std::uint8_t>(status);
  end.by_itself = !ended_by_us_;
  end.problem = problem;
  (void)control_.send(end).ok();
}

void Segment::stop() {
  if (command_ && finished_ && command_->status()) {
    command_->let_go();
  } else if (command_) {
    ended_by_us_ = ended_by_us_ || !command_->status();
    command_->end();
    tell_end(command_->status().value_or(0));
  }
  input_.stop();
  output_.stop();
}

}  // namespace

bool run_segment(const SegmentJob& job, ControlChannel& control, const AgentConfig& config) {
  return Segment(job, control, config).run();
}

}  // namespace rdcp::tree
