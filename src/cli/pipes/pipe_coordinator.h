// Coordinates rdpipe: starts the segments of a pipeline and the streams between them, waits for their end,
// and ends all of them when one fails.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/pipes/pipe_link.h"
#include "cli/pipes/pipeline_options.h"
#include "cli/pipes/segment_link.h"
#include "io/descriptors.h"

namespace rdcp::cli {

// Describes what would run where, in a line for each segment and each stream.
std::string describe_pipeline(const PipelineOptions& options, bool have_input);

class PipeCoordinator {
 public:
  // signal_fd: signalfd(2) of SIGINT, SIGTERM and SIGHUP, blocked in every thread.
  PipeCoordinator(const PipelineOptions& options, int signal_fd);

  // Runs the whole pipeline. Returns the exit status: 0, that of the first command that failed, or one of
  // exit_status.h.
  int run(bool have_input);

 private:
  using Clock = std::chrono::steady_clock;

  void run_stage(const PipeStage& stage);
  io::Result<void> start_segments(const PipeStage& stage);
  io::Result<void> start_hops(const PipeStage& stage);
  io::Result<void> start_hop(SegmentLink* from, SegmentLink* to);
  tree::SegmentJob job_of(const PipeStage& stage, std::size_t index) const;
  // Runs one round of the event loop.
  void turn(const PipeStage& stage);
  void take_signal();
  void receive(SegmentLink& link);
  void hear_problems(AgentLink& agent);
  void look_at_segments(const PipeStage& stage);
  void look_at_hops();
  bool is_failure(std::size_t index, const tree::SegmentEnd& end) const;
  bool all_over();
  void send_beats();
  void end_everything();
  void close_stage();
  void fail(int status, const std::string& line);
  void fail(const io::Error& error);
  void print_summary() const;

  const PipelineOptions options_;
  const int signal_fd_;
  const bool has_terminal_;
  io::Event wake_;                                   // made by run()
  std::vector<std::unique_ptr<SegmentLink>> links_;  // the stage's segments
  std::vector<std::unique_ptr<PipeLink>> hops_;      // the stage's streams, in order
  bool first_hop_is_input_ = false;                  // else the first stream is the first segment's output
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
  Clock::time_point next_beat_ = Clock::now();
  std::vector<std::string> hop_lines_;
  std::uint64_t bytes_most_ = 0;
};

}  // namespace rdcp::cli
