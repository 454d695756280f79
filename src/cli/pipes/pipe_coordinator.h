// Coordinates rdpipe: starts the segments of a pipeline and the streams between them, waits for their end,
// and ends all of them when one fails.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/agents/session_loop.h"
#include "cli/pipes/pipe_link.h"
#include "cli/pipes/pipe_request.h"
#include "cli/pipes/pipeline_options.h"
#include "cli/pipes/segment_link.h"
#include "io/descriptors.h"
#include "net/sockets/address.h"

namespace rdcp::cli {

// Describes what would run where, in a line for each segment and each stream.
std::string describe_pipeline(const PipelineOptions& options, bool have_input);

class PipeCoordinator final : public SessionUser {
 public:
  // signal_fd: signalfd(2) of SIGINT, SIGTERM and SIGHUP, blocked in every thread.
  PipeCoordinator(const PipelineOptions& options, int signal_fd);

  // Runs the whole pipeline. Returns the exit status: 0, that of the first command that failed, or one of
  // exit_status.h.
  int run(bool have_input);

  // A segment's process itself reports problems here; those of its command and streams come otherwise.
  void hear_problem(AgentSession& session, const tree::Problem& problem) override;
  void lose(AgentSession& session, const io::Error& error) override;
  void fail(const io::Error& error) override;
  void end_by_signal(int signal) override;

 private:
  using Clock = std::chrono::steady_clock;

  io::Result<void> prepare();
  void run_stage(const PipeStage& stage);
  io::Result<void> start_segments(const PipeStage& stage);
  io::Result<void> start_streams(const PipeStage& stage);
  io::Result<void> start_stream(const PipeNeighbours& neighbours);
  void turn(const PipeStage& stage);
  void look_at_segments(const PipeStage& stage);
  void look_at_streams();
  bool is_failure(std::size_t index, const tree::SegmentEnd& end) const;
  bool all_over();
  SegmentLink& segment_of(const AgentSession& session);
  void end_everything();
  void close_stage();
  void note_failure(int status, const std::string& line);
  void print_summary() const;

  const PipelineOptions options_;
  const int signal_fd_;
  io::Event wake_;                                      // made by run()
  std::optional<SessionLoop> loop_;                     // the stage's
  std::vector<std::unique_ptr<SegmentLink>> segments_;  // the stage's
  std::vector<std::unique_ptr<PipeLink>> streams_;      // the stage's, in order
  bool first_stream_is_input_ = false;                  // else the first stream is the first segment's output
  std::uint16_t next_port_ = 0;
  std::optional<net::Address> own_address_;

  bool ending_ = false;
  Clock::time_point end_by_force_;
  std::optional<std::size_t> failed_segment_;
  int status_ = 0;
  std::string failure_;  // the line to be printed
  bool interrupted_ = false;
  bool output_gone_ = false;
  Clock::time_point begun_ = Clock::now();
  std::vector<std::string> stream_lines_;
  std::uint64_t bytes_most_ = 0;
};

}  // namespace rdcp::cli
