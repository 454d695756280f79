#include "cli/pipes/segment_link.h"

#include <utility>

namespace rdcp::cli {

using io::Result;

Result<std::unique_ptr<SegmentLink>> SegmentLink::start(const Options& options, const PipeSegment& segment,
                                                        bool with_host) {
  const std::string prefix = segment.host_name() + ": ";
  auto agent = segment.host ? AgentLink::start_remote(options, *segment.host, prefix)
                            : AgentLink::start_beside(with_host ? prefix : std::string());
  if (!agent) return agent.error();
  return std::unique_ptr<SegmentLink>(new SegmentLink(segment, std::move(*agent)));
}

void SegmentLink::send_job(const tree::SegmentJob& job) {
  job_sent_ = true;
  agent_->tell(job);  // an agent that is gone shows when it is read from
}

Result<void> SegmentLink::receive() {
  auto received = agent_->receive();
  for (const tree::RelayedBytes& relayed : agent_->relayed.take()) {
    (relayed.channel == tree::RelayChannel::input ? input_ : output_).deliver(relayed.bytes);
  }
  return received;
}

}  // namespace rdcp::cli
