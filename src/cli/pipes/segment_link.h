// rdpipe's end of one segment: the session with the process that runs it, and the relays to its two agents.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/agents/agent_session.h"
#include "cli/agents/session_loop.h"
#include "cli/pipes/pipeline.h"
#include "tree/messages/segment_job.h"
#include "tree/pipe/relay.h"

namespace rdcp::cli {

// Not thread-safe. Must stay where it is, because the session has handlers that refer to it.
class SegmentLink {
 public:
  // Starts the segment's process. The lines of its standard error get the host's name as a prefix; on this
  // host only if with_host.
  static io::Result<std::unique_ptr<SegmentLink>> start(const RemoteShell& shell, const PipeSegment& segment,
                                                        bool with_host);

  const PipeSegment& segment() const { return segment_; }
  AgentSession& session() { return *session_; }
  const AgentSession& session() const { return *session_; }
  tree::Relay& input() { return input_; }
  tree::Relay& output() { return output_; }
  // Has the loop wait for the process, and for what its agents' coordinators say.
  void join(SessionLoop& loop);
  // Tells the process, once it has said hello, what to do. Further calls have no effect.
  void send_job(const tree::SegmentJob& job);
  // How the segment has ended, or nothing if it has not.
  const std::optional<tree::SegmentEnd>& end() const { return end_; }
  // Closes the relays; the agents' coordinators see that.
  void close_relays();

 private:
  SegmentLink(const PipeSegment& segment, std::unique_ptr<AgentSession> session);

  const PipeSegment segment_;
  std::unique_ptr<AgentSession> session_;
  tree::Relay input_;
  tree::Relay output_;
  bool job_sent_ = false;
  std::optional<tree::SegmentEnd> end_;
};

}  // namespace rdcp::cli
