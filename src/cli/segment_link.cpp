#include "cli/segment_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "cli/process.h"
#include "io/descriptors.h"

namespace rdcp::cli {

using io::Result;

namespace {

// Whole lines only; the last one may lack its end.
void print_lines(const std::string& prefix, std::string& text, bool all) {
  for (std::size_t end; (end = text.find('\n')) != text.npos || (all && !text.empty());) {
    const std::string line = prefix + text.substr(0, end) + "\n";
    write_to_stderr(line);
    text.erase(0, end == text.npos ? end : end + 1);
  }
}

void copy_lines(const std::string& prefix, const io::Fd& from) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(from.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) text.append(bytes, static_cast<std::size_t>(n));
    constexpr std::size_t kLineMax = 64 << 10;
    print_lines(prefix, text, n <= 0 || text.size() > kLineMax);
    if (n <= 0) return;
  }
}

}  // namespace

Result<io::Fd> PrefixedLines::start(const std::string& prefix) {
  auto ends = io::make_pipe();
  if (!ends) return ends.error();
  auto thread = io::Thread::start("a thread for a command's messages",
                                  [prefix, from = std::move(ends->first)] { copy_lines(prefix, from); });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return std::move(ends->second);
}

Result<std::unique_ptr<SegmentLink>> SegmentLink::start(const Options& options, const PipeSegment& segment,
                                                        bool with_host) {
  std::unique_ptr<PrefixedLines> lines;
  io::Fd standard_error;
  if (with_host) {
    lines = std::make_unique<PrefixedLines>();
    auto pipe = lines->start(segment.host_name() + ": ");
    if (!pipe) return pipe.error();
    standard_error = std::move(*pipe);
  }
  auto agent = segment.host ? AgentLink::start_remote(options, *segment.host, standard_error.get())
                            : AgentLink::start_beside(standard_error.get());
  if (!agent) return agent.error();
  std::unique_ptr<SegmentLink> link(new SegmentLink(segment, std::move(*agent)));
  link->lines_ = std::move(lines);
  return link;
}

void SegmentLink::send_job(const tree::SegmentJob& job) {
  job_sent_ = true;
  (void)agent_->control().send(job).ok();  // who is gone shows when it is read from
}

Result<void> SegmentLink::receive() {
  auto received = agent_->receive();
  for (const tree::RelayedBytes& relayed : std::exchange(agent_->relayed, {})) {
    (relayed.channel == tree::RelayChannel::input ? input_ : output_).deliver(relayed.bytes);
  }
  return received;
}

}  // namespace rdcp::cli
