#include "tree/forward/forwarder.h"

#include "tree/source/source_worker.h"
#include "tree/streams/stream_supervisor.h"

namespace rdcp::tree {

Forwarder::Forwarder(const CopySettings& settings, const StreamWish& wish,
                     std::function<void(const Problem&)> lost)
    : reporter_(std::move(lost)),
      names_([this](const io::Error& error) { reporter_.problem(error); }),
      session_(job_of(settings, wish), {}, {settings.policy(), names_, reporter_}) {
  session_.streams().need_all();
}

SourceJob Forwarder::job_of(const CopySettings& settings, const StreamWish& wish) {
  SourceJob job;
  job.settings = settings;
  job.streams = wish;
  return job;
}

void Forwarder::pass_on(PassedChunk& chunk) {
  session_.plan().add(PassTask{PassedChunkRef(chunk)});
}

void Forwarder::copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape) {
  session_.set_terms({.shape = shape});
  Plan& plan = session_.plan();
  StreamSupervisor supervisor(
      session_.streams(),
      [&](std::size_t i, const StreamMaker& make_stream) { SourceWorker(session_, i).run(make_stream); },
      [&plan] { return plan.stopped(); }, [this](const io::Error& error) { session_.fail(error); });
  supervisor.run(streams, nullptr, std::chrono::milliseconds(0));
  plan.stop();  // what still comes is answered by nobody
}

}  // namespace rdcp::tree
