#include "cli/pipes/pipe_coordinator.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cstdio>

#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/output.h"
#include "cli/text/process.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::SegmentKind;

namespace {

constexpr int kSigpipeStatus = kExitSignalBase + SIGPIPE;
// How long everything may take to end after it was told to; a command has a second of it between SIGTERM and
// SIGKILL.
constexpr std::chrono::milliseconds kEndingGrace{4000};
constexpr std::chrono::milliseconds kTurn{200};
constexpr std::chrono::milliseconds kWaitForProcess{10};

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

// Returns the job of a segment, which is one of the pipeline's.
tree::SegmentJob job_of(const PipeSegment& segment, const PipeStage& stage, std::size_t index) {
  tree::SegmentJob job;
  job.kind = segment.kind;
  job.text = segment.text;
  job.has_input = index > stage.first || stage.takes_input;
  job.has_output = index < stage.last || stage.gives_output;
  return job;
}

}  // namespace

PipeCoordinator::PipeCoordinator(const PipelineOptions& options, int signal_fd)
    : options_(options), signal_fd_(signal_fd), next_port_(options.port) {}

int PipeCoordinator::run(bool have_input) {
  if (auto prepared = prepare(); !prepared) {
    fail(prepared.error());
    write_to_stderr(failure_);
    return status_;
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

Result<void> PipeCoordinator::prepare() {
  auto wake = io::Event::create();
  if (!wake) return wake.error();
  wake_ = std::move(*wake);
  if (options_.hostname.empty()) return {};
  auto addresses = net::resolve(options_.hostname, 0);
  if (!addresses) return addresses.error();
  own_address_ = addresses->front();
  return {};
}

void PipeCoordinator::run_stage(const PipeStage& stage) {
  loop_.emplace(LoopSettings{.signal_fd = signal_fd_, .silence = "no sign of life"}, *this);
  loop_->watch([this] { return wake_.fd(); }, [this] { wake_.drain(); });
  auto started = start_segments(stage);
  if (started && !ending_) started = start_streams(stage);
  if (!started) fail(started.error());
  while (!all_over() && !(ending_ && Clock::now() >= end_by_force_)) turn(stage);
  close_stage();
}

Result<void> PipeCoordinator::start_segments(const PipeStage& stage) {
  for (std::size_t i = stage.first; i <= stage.last; ++i) {
    if (!loop_->await_logins([this] { return ending_; })) return {};
    auto segment = SegmentLink::start(options_.copy.shell, options_.segments[i], options_.copy.verbose);
    if (!segment) return segment.error();
    segments_.push_back(std::move(*segment));
    segments_.back()->join(*loop_);
  }
  return {};
}

Result<void> PipeCoordinator::start_streams(const PipeStage& stage) {
  first_stream_is_input_ = stage.takes_input;
  SegmentLink* from = nullptr;
  for (std::unique_ptr<SegmentLink>& segment : segments_) {
    if (from != nullptr || stage.takes_input) {
      if (auto started = start_stream({from, segment.get()}); !started) return started;
    }
    from = segment.get();
  }
  return stage.gives_output ? start_stream({from, nullptr}) : Result<void>();
}

Result<void> PipeCoordinator::start_stream(const PipeNeighbours& neighbours) {
  auto request = pipe_request(options_.copy, neighbours, own_address_, next_port_);
  if (!request) return request.error();
  if (next_port_ != 0) ++next_port_;
  streams_.push_back(std::make_unique<PipeLink>(neighbours.from_name(), neighbours.to_name(), wake_));
  return streams_.back()->start(std::move(*request));
}

void PipeCoordinator::turn(const PipeStage& stage) {
  loop_->turn(kTurn);
  look_at_segments(stage);
  look_at_streams();
}

void PipeCoordinator::end_by_signal(int signal) {
  interrupted_ = true;
  status_ = kExitSignalBase + signal;
  failure_ = std::string("rdpipe: ended by SIG") + ::sigabbrev_np(signal) + "; so are all commands\n";
  end_everything();
}

// It is no failure if a segment's process goes away after it has reported the segment's end.
void PipeCoordinator::lose(AgentSession& session, const io::Error& error) {
  SegmentLink& segment = segment_of(session);
  segment.close_relays();
  if (segment.end() || ending_) return;
  const bool lost = session.hello() && error.kind != ErrorKind::protocol;
  fail(lost ? io::plain_error(ErrorKind::connection, "run", segment.segment().host_name(),
                              "the connection to it was lost, or rdcp was ended there")
            : session.explain(error));
}

void PipeCoordinator::hear_problem(AgentSession& session, const tree::Problem& problem) {
  if (!problem.ends_run || segment_of(session).end() || ending_) return;
  note_failure(exit_status(problem.kind), session.name() + ": " + problem.text);
  end_everything();
}

void PipeCoordinator::look_at_segments(const PipeStage& stage) {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    SegmentLink& segment = *segments_[i];
    if (!ending_) segment.send_job(job_of(segment.segment(), stage, stage.first + i));
    if (!segment.end() || !is_failure(i, *segment.end())) continue;
    // If several have failed by themselves, the first in the order of the pipeline counts.
    if (interrupted_ || (failed_segment_ && *failed_segment_ <= i)) continue;
    failed_segment_ = i;
    const tree::SegmentEnd& end = *segment.end();
    status_ = end.status;
    failure_ = "rdpipe: " +
               (end.problem.empty() ? explain(segment.segment(), end.status)
                                    : segment.segment().host_name() + ": " + end.problem) +
               "\n";
    end_everything();
  }
}

// A command that SIGPIPE ends because its reader has gone has not failed, as in a shell. Nor is a command the
// cause if the stream of its output has failed: a stream's problem is known before its source is told to
// stop.
bool PipeCoordinator::is_failure(std::size_t index, const tree::SegmentEnd& end) const {
  if (end.status == 0 || !end.by_itself) return false;
  const std::size_t out = index + (first_stream_is_input_ ? 1 : 0);
  const PipeLink* stream = out < streams_.size() ? streams_[out].get() : nullptr;
  if (stream != nullptr && stream->problem()) return false;
  const bool reader_gone = stream != nullptr && (stream->reader_gone() || stream->stopped());
  return end.status != kSigpipeStatus || !reader_gone;
}

void PipeCoordinator::look_at_streams() {
  for (const auto& stream : streams_) {
    if (const std::string remarks = stream->take_remarks(); !remarks.empty() && !options_.copy.quiet) {
      write_to_stderr("rdpipe: " + remarks);
    }
    if (!stream->over() || stream->stopped() || ending_) continue;
    if (stream->whole() || stream->reader_gone()) continue;
    const auto problem = stream->problem();
    const ErrorKind kind = problem ? problem->kind : ErrorKind::connection;
    const std::string text = problem ? problem->text : "the stream was cut short";
    note_failure(exit_status(kind), stream->from() + " -> " + stream->to() + ": " + text);
    end_everything();
  }
}

bool PipeCoordinator::all_over() {
  const bool streams_over = std::ranges::all_of(streams_, [](const auto& stream) { return stream->over(); });
  return streams_over && std::ranges::all_of(segments_, [](const auto& segment) {
           return segment->session().gone() || segment->end();
         });
}

SegmentLink& PipeCoordinator::segment_of(const AgentSession& session) {
  return **std::ranges::find_if(segments_,
                                [&](const auto& segment) { return &segment->session() == &session; });
}

// Tells each host to abort, so that commands do not take the end of a stream for the end of their input.
void PipeCoordinator::end_everything() {
  if (std::exchange(ending_, true)) return;
  end_by_force_ = Clock::now() + kEndingGrace;
  for (const auto& segment : segments_) segment->session().allow_silence();
  loop_->tell_all(tree::Abort());
  for (const auto& stream : streams_) stream->stop();
}

// Ends the stage's processes. If nothing failed they are waited for, even while something that commands left
// in the background keeps ssh running, as it would without rdpipe.
void PipeCoordinator::close_stage() {
  for (const auto& stream : streams_) {
    if (stream->over() && stream->outcome()) {
      const Summary& done = *stream->outcome();
      bytes_most_ = std::max(bytes_most_, done.bytes);
      stream_lines_.push_back(fmt::format("{} -> {}: {} over {}", stream->from(), stream->to(),
                                          format_bytes(done.bytes),
                                          done.ways.empty() ? "nothing" : done.ways.front()));
    }
    if (stream->to() == "standard output" && stream->reader_gone()) output_gone_ = true;
  }
  for (const auto& segment : segments_) segment->close_relays();
  loop_->tell_all(tree::Finish());
  for (const auto& segment : segments_) segment->session().close_out();
  streams_.clear();
  for (const auto& segment : segments_) {
    while (!ending_ && !segment->session().has_ended()) loop_->turn(kWaitForProcess);
  }
  loop_.reset();
  segments_.clear();
}

void PipeCoordinator::note_failure(int status, const std::string& line) {
  if (status_ != 0) return;
  status_ = status;
  failure_ = "rdpipe: " + line + "\n";
}

// Also ends everything that has been started.
void PipeCoordinator::fail(const io::Error& error) {
  note_failure(exit_status(error.kind), error.message());
  if (loop_) end_everything();
}

void PipeCoordinator::print_summary() const {
  std::string text;
  for (const std::string& line : stream_lines_) text += "rdpipe: " + io::printable(line) + "\n";
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
