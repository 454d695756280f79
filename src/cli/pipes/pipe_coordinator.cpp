#include "cli/pipes/pipe_coordinator.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/output.h"
#include "cli/text/process.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::Connect;
using tree::SegmentKind;

namespace {

constexpr int kSigpipeStatus = kExitSignalBase + SIGPIPE;
// How long everything may take to end after it was told to; a command has a second of it between SIGTERM and
// SIGKILL.
constexpr std::chrono::milliseconds kEndingGrace{4000};
constexpr int kTurn_ms = 200;

// Returns what rdpipe says of a command that has failed.
std::string explain(const PipeSegment& segment, int status) {
  const std::string who = segment.host_name() + ": '" + io::printable(segment.what()) + "'";
  if (status == 127) return who + " was not found (status 127)";
  if (status > kExitSignalBase && status < kExitSignalBase + NSIG) {
    const char* name = ::sigabbrev_np(status - kExitSignalBase);
    if (name != nullptr) return fmt::format("{} was ended by SIG{}", who, name);
  }
  return fmt::format("{} failed with status {}", who, status);
}

// Returns the options of a stream's coordinator. Its agents know where the bytes come from and go to, so of
// the locations only the names are used.
Options hop_options(const PipelineOptions& options, const std::string& host) {
  Options copy = options.copy;
  copy.quiet = true;
  copy.verbose = false;
  copy.sources = {Location{.kind = Location::Kind::standard_stream, .user = {}, .host = {}, .path = "-"}};
  copy.destination = Location{.kind = Location::Kind::remote, .user = {}, .host = host, .path = "file"};
  return copy;
}

// Returns a function that starts the agent at rdpipe's own standard input or output.
Parties::Start start_own_agent(bool input) {
  return [input] {
    tree::AgentConfig place;
    if (input) {
      place.standard.input_by_extents = true;
    } else {
      place.only.emplace();
      place.only->streams_as_told = true;
    }
    return AgentLink::start_local(std::move(place));
  };
}

// Returns a function that connects to the agent of a segment, through the relay.
Result<Parties::Start> start_far_agent(tree::Relay& relay, const std::string& host) {
  auto end = relay.open();
  if (!end) return end.error();
  auto held = std::make_shared<io::Fd>(std::move(*end));
  return Parties::Start([held, host] {
    return AgentLink::of_connection(std::move(*held), host,
                                    "its agent ended unexpectedly, or the connection to it was lost");
  });
}

}  // namespace

PipeCoordinator::PipeCoordinator(const PipelineOptions& options, int signal_fd)
    : options_(options), signal_fd_(signal_fd), has_terminal_(has_terminal()), next_port_(options.port) {}

int PipeCoordinator::run(bool have_input) {
  auto wake = io::Event::create();
  if (!wake) {
    fail(wake.error());
    write_to_stderr(failure_);
    return status_;
  }
  wake_ = std::move(*wake);
  if (!options_.hostname.empty()) {
    auto addresses = net::resolve(options_.hostname, 0);
    if (!addresses) {
      fail(addresses.error());
      write_to_stderr(failure_);
      return status_;
    }
    own_address_ = addresses->front();
  }
  for (const PipeStage& stage : stages_of(options_.segments, have_input)) {
    run_stage(stage);
    if (status_ != 0) break;
  }
  if (!failure_.empty()) write_to_stderr(failure_);
  if (status_ == 0 && output_gone_) status_ = kSigpipeStatus;
  if (options_.copy.verbose && status_ == 0) print_summary();
  return status_;
}

void PipeCoordinator::run_stage(const PipeStage& stage) {
  auto started = start_segments(stage);
  if (started) started = start_hops(stage);
  if (!started) fail(started.error());
  if (!started) end_everything();
  while (!all_over() && !(ending_ && Clock::now() >= end_by_force_)) turn(stage);
  close_stage();
}

Result<void> PipeCoordinator::start_segments(const PipeStage& stage) {
  for (std::size_t i = stage.first; i <= stage.last; ++i) {
    auto link = SegmentLink::start(options_.copy, options_.segments[i], options_.copy.verbose);
    if (!link) return link.error();
    links_.push_back(std::move(*link));
  }
  return {};
}

Result<void> PipeCoordinator::start_hops(const PipeStage& stage) {
  first_hop_is_input_ = stage.takes_input;
  SegmentLink* from = nullptr;
  for (std::unique_ptr<SegmentLink>& link : links_) {
    if (from != nullptr || stage.takes_input) {
      if (auto started = start_hop(from, link.get()); !started) return started;
    }
    from = link.get();
  }
  return stage.gives_output ? start_hop(from, nullptr) : Result<void>();
}

// The target listens, except where it is on this host, the source is not, and --hostname does not tell how to
// reach this host: then this host connects to the source.
Result<void> PipeCoordinator::start_hop(SegmentLink* from, SegmentLink* to) {
  Parties parties;
  const bool source_is_far = from != nullptr && from->segment().host;
  const bool target_is_far = to != nullptr && to->segment().host;
  const bool target_listens = target_is_far || !source_is_far || own_address_;
  parties.source_connects = target_listens ? Connect::connect : Connect::listen;
  parties.target_is_far = target_is_far || !source_is_far;
  if (!target_is_far && source_is_far) parties.reached = own_address_;

  const std::string from_name = from != nullptr ? from->segment().host_name() : "standard input";
  const std::string to_name = to != nullptr ? to->segment().host_name() : "standard output";
  parties.start_source = start_own_agent(true);
  parties.start_target = start_own_agent(false);
  if (from != nullptr) {
    auto start = start_far_agent(from->output(), from_name);
    if (!start) return start.error();
    parties.start_source = std::move(*start);
  }
  if (to != nullptr) {
    auto start = start_far_agent(to->input(), to_name);
    if (!start) return start.error();
    parties.start_target = std::move(*start);
  }
  Options copy = hop_options(options_, to_name);
  if (next_port_ != 0) copy.data_port = next_port_++;
  hops_.push_back(std::make_unique<PipeLink>(from_name, to_name, wake_));
  return hops_.back()->start(copy, std::move(parties));
}

tree::SegmentJob PipeCoordinator::job_of(const PipeStage& stage, std::size_t index) const {
  tree::SegmentJob job;
  const PipeSegment& segment = options_.segments[index];
  job.kind = segment.kind;
  job.text = segment.text;
  job.has_input = index > stage.first || stage.takes_input;
  job.has_output = index < stage.last || stage.gives_output;
  return job;
}

void PipeCoordinator::turn(const PipeStage& stage) {
  std::vector<pollfd> watched{{signal_fd_, POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
  for (const auto& link : links_) {
    const bool gone = link->agent().gone;
    watched.push_back({gone ? -1 : link->agent().control().fd(), POLLIN, 0});
    watched.push_back({gone ? -1 : link->input().fd(), POLLIN, 0});
    watched.push_back({gone ? -1 : link->output().fd(), POLLIN, 0});
  }
  if (::poll(watched.data(), watched.size(), kTurn_ms) < 0 && errno != EINTR) {
    fail(io::errno_error("poll", "segments", errno, ErrorKind::connection));
    return end_everything();
  }
  if (watched[0].revents != 0) take_signal();
  if (watched[1].revents != 0) wake_.drain();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const pollfd* of_link = &watched[2 + 3 * i];
    if (of_link[1].fd >= 0 && of_link[1].revents != 0) links_[i]->input().forward();
    if (of_link[2].fd >= 0 && of_link[2].revents != 0) links_[i]->output().forward();
    if (of_link[0].fd >= 0 && of_link[0].revents != 0) receive(*links_[i]);
  }
  look_at_segments(stage);
  look_at_hops();
  send_beats();
}

void PipeCoordinator::take_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof info) != sizeof info) return;
  const int signal = static_cast<int>(info.ssi_signo);
  interrupted_ = true;
  status_ = kExitSignalBase + signal;
  failure_ = std::string("rdpipe: ended by SIG") + ::sigabbrev_np(signal) + "; so are all commands\n";
  end_everything();
}

// Receives from a segment's process. It is no failure if the process goes away after it has reported the
// segment's end.
void PipeCoordinator::receive(SegmentLink& link) {
  const auto received = link.receive();
  AgentLink& agent = link.agent();
  hear_problems(agent);
  if (received) return;
  agent.gone = true;
  link.input().close();
  link.output().close();
  if (agent.segment_end || ending_) return;
  const bool began = agent.hello.has_value();
  const bool lost = began && received.error().kind != ErrorKind::protocol;
  fail(lost ? io::plain_error(ErrorKind::connection, "run", link.segment().host_name(),
                              "the connection to it was lost, or rdcp was ended there")
            : agent.explain(options_.copy, received.error()));
  end_everything();
}

// Takes the problems of a segment's process itself; those of its command and streams are reported otherwise.
void PipeCoordinator::hear_problems(AgentLink& agent) {
  for (const tree::Problem& problem : agent.problems.take()) {
    if (!problem.ends_run || agent.segment_end || ending_) continue;
    fail(exit_status(problem.kind), agent.name() + ": " + problem.text);
    end_everything();
  }
}

void PipeCoordinator::look_at_segments(const PipeStage& stage) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    AgentLink& agent = links_[i]->agent();
    if (agent.hello && !links_[i]->job_sent() && !ending_)
      links_[i]->send_job(job_of(stage, stage.first + i));
    if (agent.segment_end && is_failure(i, *agent.segment_end)) {
      // If several have failed by themselves, the first in the order of the pipeline counts.
      if (interrupted_ || (failed_segment_ && *failed_segment_ <= i)) continue;
      failed_segment_ = i;
      const tree::SegmentEnd& end = *agent.segment_end;
      status_ = end.status;
      const std::string host = links_[i]->segment().host_name();
      failure_ =
          "rdpipe: " +
          (end.problem.empty() ? explain(links_[i]->segment(), end.status) : host + ": " + end.problem) +
          "\n";
      end_everything();
    }
    const std::chrono::seconds limit = silence_max(agent, has_terminal_);
    if (!agent.gone && !agent.segment_end && !ending_ && Clock::now() - agent.heard > limit) {
      fail(io::plain_error(agent.hello ? ErrorKind::connection : ErrorKind::unreachable, "wait for",
                           links_[i]->segment().host_name(),
                           "its agent has not answered for " + std::to_string(limit.count()) + " s"));
      end_everything();
    }
  }
}

// A command that SIGPIPE ends because its reader has gone has not failed, as in a shell. Nor is a command the
// cause if the stream of its output has failed: a stream's problem is known before its source is told to
// stop.
bool PipeCoordinator::is_failure(std::size_t index, const tree::SegmentEnd& end) const {
  if (end.status == 0 || !end.by_itself) return false;
  const std::size_t out = index + (first_hop_is_input_ ? 1 : 0);
  const PipeLink* hop = out < hops_.size() ? hops_[out].get() : nullptr;
  if (hop != nullptr && hop->problem()) return false;
  const bool reader_gone = hop != nullptr && (hop->reader_gone() || hop->stopped());
  return end.status != kSigpipeStatus || !reader_gone;
}

void PipeCoordinator::look_at_hops() {
  for (const auto& hop : hops_) {
    if (!hop->over() || hop->stopped() || ending_) continue;
    if (hop->whole() || hop->reader_gone()) continue;
    const auto problem = hop->problem();
    const ErrorKind kind = problem ? problem->kind : ErrorKind::connection;
    const std::string text = problem ? problem->text : "the stream was cut short";
    fail(exit_status(kind), hop->from() + " -> " + hop->to() + ": " + text);
    end_everything();
  }
}

bool PipeCoordinator::all_over() {
  const bool hops_over = std::ranges::all_of(hops_, [](const auto& hop) { return hop->over(); });
  return hops_over && std::ranges::all_of(links_, [](const auto& link) {
           return link->agent().gone || link->agent().segment_end;
         });
}

void PipeCoordinator::send_beats() {
  if (Clock::now() < next_beat_) return;
  next_beat_ = Clock::now() + tree::kBeatInterval;
  for (const auto& link : links_) {
    AgentLink& agent = link->agent();
    if (agent.hello && !agent.gone) agent.tell(tree::Beat());
  }
}

// Tells each host to abort, so that commands do not take the end of a stream for the end of their input.
void PipeCoordinator::end_everything() {
  if (std::exchange(ending_, true)) return;
  end_by_force_ = Clock::now() + kEndingGrace;
  for (const auto& link : links_) {
    if (!link->agent().gone) link->agent().tell(tree::Abort());
  }
  for (const auto& hop : hops_) hop->stop();
}

// Ends the stage's processes. If nothing failed they are waited for, even while something that commands left
// in the background keeps ssh running, as it would without rdpipe.
void PipeCoordinator::close_stage() {
  for (std::size_t i = 0; i < hops_.size(); ++i) {
    const PipeLink& hop = *hops_[i];
    if (hop.over() && hop.outcome()) {
      const Summary& done = *hop.outcome();
      bytes_most_ = std::max(bytes_most_, done.bytes);
      hop_lines_.push_back(fmt::format("{} -> {}: {} over {}", hop.from(), hop.to(), format_bytes(done.bytes),
                                       done.ways.empty() ? "nothing" : done.ways.front()));
    }
    if (hop.to() == "standard output" && hop.reader_gone()) output_gone_ = true;
  }
  for (const auto& link : links_) {
    link->input().close();
    link->output().close();
    if (!link->agent().gone) link->agent().tell(tree::Finish());
    link->agent().control().close_out();
  }
  hops_.clear();
  for (const auto& link : links_) {
    while (!ending_ && !link->agent().has_ended()) {
      pollfd signal{signal_fd_, POLLIN, 0};
      if (::poll(&signal, 1, 10) > 0) take_signal();
    }
  }
  links_.clear();
}

void PipeCoordinator::fail(int status, const std::string& line) {
  if (status_ != 0) return;
  status_ = status;
  failure_ = "rdpipe: " + line + "\n";
}

void PipeCoordinator::fail(const io::Error& error) {
  fail(exit_status(error.kind), error.message());
}

void PipeCoordinator::print_summary() const {
  std::string text;
  for (const std::string& line : hop_lines_) text += "rdpipe: " + io::printable(line) + "\n";
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  text += fmt::format("Bandwidth {:.3f} GB/s\n", static_cast<double>(bytes_most_) / seconds / 1e9);
  write_to_stderr(text);
}

std::string describe_pipeline(const PipelineOptions& options, bool have_input) {
  std::string text;
  std::uint16_t port = options.port;
  const auto stream = [&](const std::string& from, const std::string& to) {
    text += from + " -> " + to + ": a stream, port " + (port == 0 ? "any" : std::to_string(port++)) + "\n";
  };
  for (const PipeStage& stage : stages_of(options.segments, have_input)) {
    if (stage.first > 0) text += "then\n";
    if (stage.takes_input) stream("standard input", options.segments[stage.first].host_name());
    for (std::size_t i = stage.first; i <= stage.last; ++i) {
      const PipeSegment& segment = options.segments[i];
      text += segment.host_name() + ": " + io::printable(segment.what()) + "\n";
      if (i < stage.last) stream(segment.host_name(), options.segments[i + 1].host_name());
    }
    if (stage.gives_output) stream(options.segments[stage.last].host_name(), "standard output");
  }
  return text;
}

}  // namespace rdcp::cli
