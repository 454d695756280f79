#include "cli/pipes/segment_link.h"

#include <utility>

namespace rdcp::cli {

using io::Result;
using tree::RelayChannel;

namespace {

tree::Relay::Send to(AgentSession& session) {
  return [&session](const tree::RelayedBytes& bytes) { session.tell(bytes); };
}

}  // namespace

Result<std::unique_ptr<SegmentLink>> SegmentLink::start(const RemoteShell& shell, const PipeSegment& segment,
                                                        bool with_host) {
  const std::string prefix = segment.host_name() + ": ";
  auto session = segment.host
                     ? AgentSession::start_remote(shell, *segment.host, prefix)
                     : AgentSession::start_beside(with_host ? prefix : std::string(), shell.landlock);
  if (!session) return session.error();
  return std::unique_ptr<SegmentLink>(new SegmentLink(segment, std::move(*session)));
}

SegmentLink::SegmentLink(const PipeSegment& segment, std::unique_ptr<AgentSession> session)
    : segment_(segment),
      session_(std::move(session)),
      input_(to(*session_), RelayChannel::input),
      output_(to(*session_), RelayChannel::output) {
  session_->on<tree::RelayedBytes>([this](const tree::RelayedBytes& relayed) {
    (relayed.channel == RelayChannel::input ? input_ : output_).deliver(relayed.bytes);
  });
  session_->on<tree::SegmentEnd>([this](tree::SegmentEnd& end) {
    end_ = std::move(end);
    session_->allow_silence();
  });
}

void SegmentLink::join(SessionLoop& loop) {
  for (tree::Relay* relay : {&input_, &output_}) {
    loop.watch([this, relay] { return session_->gone() ? -1 : relay->fd(); }, [relay] { relay->forward(); });
  }
  loop.add(*session_);
}

void SegmentLink::send_job(const tree::SegmentJob& job) {
  if (!session_->hello() || std::exchange(job_sent_, true)) return;
  session_->tell(job);  // an agent that is gone shows when it is read from
}

void SegmentLink::close_relays() {
  input_.close();
  output_.close();
}

}  // namespace rdcp::cli
