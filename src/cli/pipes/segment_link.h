// rdpipe's end of one segment: the process that runs it, and the relays to its two agents.
#pragma once

#include <memory>
#include <string>

#include "cli/agents/agent_link.h"
#include "cli/pipes/pipeline.h"
#include "tree/pipe/relay.h"

namespace rdcp::cli {

// Not thread-safe.
class SegmentLink {
 public:
  // Starts the segment's process. The lines of its standard error get the host's name as a prefix; on this
  // host only if with_host.
  static io::Result<std::unique_ptr<SegmentLink>> start(const Options& options, const PipeSegment& segment,
                                                        bool with_host);

  const PipeSegment& segment() const { return segment_; }
  AgentLink& agent() { return *agent_; }
  tree::Relay& input() { return input_; }
  tree::Relay& output() { return output_; }
  // Tells the process what to do; to be called once.
  void send_job(const tree::SegmentJob& job);
  bool job_sent() const { return job_sent_; }
  // Reads what has arrived, and passes on what is for the agents' coordinators. Error: the process is gone.
  io::Result<void> receive();

 private:
  SegmentLink(const PipeSegment& segment, std::unique_ptr<AgentLink> agent)
      : segment_(segment),
        agent_(std::move(agent)),
        input_(agent_->control(), tree::RelayChannel::input),
        output_(agent_->control(), tree::RelayChannel::output) {}

  const PipeSegment segment_;
  std::unique_ptr<AgentLink> agent_;
  tree::Relay input_;
  tree::Relay output_;
  bool job_sent_ = false;
};

}  // namespace rdcp::cli
