#include "cli/launch/line_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "cli/text/output.h"

namespace rdcp::cli {

namespace {

// A longer line is printed as several.
constexpr std::size_t kLineMax = 2048;
// How many reads there are before the thread checks again if it must end, since a program may write for ever.
// They read more than a pipe holds.
constexpr unsigned kReadsMax = 512;

}  // namespace

io::Result<std::unique_ptr<LinePipe>> LinePipe::start(const std::string& prefix) {
  auto lines = prepare(prefix);
  if (!lines) return lines;
  if (auto begun = (*lines)->begin(); !begun) return begun.error();
  return lines;
}

io::Result<std::unique_ptr<LinePipe>> LinePipe::prepare(const std::string& prefix) {
  std::unique_ptr<LinePipe> lines(new LinePipe(prefix));
  auto ends = io::make_pipe();
  if (!ends) return ends.error();
  auto over = io::Event::create();
  if (!over) return over.error();
  lines->from_ = std::move(ends->first);
  lines->to_ = std::move(ends->second);
  lines->over_ = std::move(*over);
  if (::fcntl(lines->from_.get(), F_SETFL, O_NONBLOCK) != 0) return io::errno_error("set up", "a pipe");
  return lines;
}

io::Result<void> LinePipe::begin() {
  auto thread = io::Thread::start("a thread for a program's messages", [this] { run(); });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return {};
}

void LinePipe::finish(bool hurried) {
  hurried_ = hurried_ || hurried;
  if (!thread_.joinable()) return;
  to_.reset();
  over_.signal();
  thread_.join();
}

// Checks if it must end before it reads, so that all that was written before finish() is read.
void LinePipe::run() {
  bool over = false;
  while (!over) {
    std::array<pollfd, 2> watched{pollfd{from_.get(), POLLIN, 0}, pollfd{over_.fd(), POLLIN, 0}};
    ::poll(watched.data(), watched.size(), -1);
    over = watched[1].revents != 0;
    for (unsigned reads = 0; reads < kReadsMax && read_some(); ++reads) {
    }
    if (!from_) over = true;
  }
  if (!line_.empty()) end_line();
  print();
}

// Returns false if there is nothing to read now.
bool LinePipe::read_some() {
  std::array<char, 4096> bytes;
  if (!from_) return false;
  const ssize_t n = ::read(from_.get(), bytes.data(), bytes.size());
  if (n > 0) take({bytes.data(), static_cast<std::size_t>(n)});
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) from_.reset();
  return n > 0 || (n < 0 && errno == EINTR);
}

void LinePipe::take(std::string_view bytes) {
  for (const char byte : bytes) {
    const bool ends = byte == '\r' || byte == '\n';
    const bool ended_already = byte == '\n' && returned_;
    returned_ = byte == '\r';
    if (!ends) line_ += byte;
    if ((byte == '\n' && !ended_already) || (ends && !line_.empty()) || line_.size() == kLineMax) end_line();
  }
  print();
}

void LinePipe::end_line() {
  lines_ += prefix_ + line_ + "\n";
  line_.clear();
}

void LinePipe::print() {
  if (lines_.empty()) return;
  write_to_stderr(lines_, {.before = {}, .give_up = [this] { return hurried_.load(); }});
  lines_.clear();
}

}  // namespace rdcp::cli
