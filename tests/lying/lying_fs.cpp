// Mounts the file system that lies and serves it until standard input ends:
//
//    lying_fs POINT [LIE...]
//
// LIE: see lies.h. It prints "ready", then reads commands from standard input, a line each, and answers each
// with a line: what was asked for, "ok", or "error". The commands:
//
//    lie LIE          as on the command line; flock= only there
//    restart          handles that are open now are stale
//    handles          prints how many handles are open, and the most that were
//    freeze, thaw     stops to answer the kernel, and goes on
//    record           from now on operations are recorded, and all before is durable
//    count            prints how many were recorded
//    until SUFFIX     prints how many were before the first one that removed a name with this end, or count
//    power COUNT SEED      the tree becomes what may be left if power was lost after so many operations, and
//    is
//                          mounted again
//    describe COUNT SEED   prints such a tree as JSON
//    describe              prints the tree as it is
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "tests/lying/description.h"
#include "tests/lying/mount.h"
#include "tests/lying/power_loss.h"

namespace rdcp::lying {
namespace {

class Server {
 public:
  Server(const Lies& lies, std::string point) : disk_(lies), point_(std::move(point)) {}

  bool mount() {
    mount_.reset();
    mount_ = Mount::create(disk_, point_);
    return mount_ != nullptr;
  }

  int run() {
    say("ready");
    for (;;) {
      std::array<pollfd, 2> both{{{STDIN_FILENO, POLLIN, 0}, {mount_->fd(), POLLIN, 0}}};
      if (::poll(both.data(), frozen_ ? 1 : 2, -1) < 0) return 1;
      if (both[0].revents != 0 && !take_input()) return 0;
      if (!frozen_ && (both[1].revents & POLLIN) != 0 && !mount_->serve()) return 1;
    }
  }

 private:
  static void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  // Returns false at the end of standard input.
  bool take_input() {
    std::array<char, 4096> bytes;
    const ssize_t length = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (length <= 0) return false;
    input_.append(bytes.data(), static_cast<std::size_t>(length));
    for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos;) {
      std::istringstream line(input_.substr(0, end));
      input_.erase(0, end + 1);
      say(obey(line));
    }
    return true;
  }

  std::string obey(std::istringstream& line) {
    std::string word;
    line >> word;
    if (word == "freeze" || word == "thaw") {
      frozen_ = word == "freeze";
    } else if (word == "restart") {
      disk_.restart();
    } else if (word == "record") {
      disk_.record();
    } else if (word == "count") {
      return std::to_string(disk_.recorded());
    } else if (word == "until") {
      line >> word;
      return std::to_string(disk_.recorded_until_removal(word));
    } else if (word == "handles") {
      return std::to_string(disk_.open_handles()) + " " + std::to_string(disk_.most_handles());
    } else if (word == "lie") {
      line >> word;
      return disk_.lies().take(word) ? "ok" : "error";
    } else if (word == "power" || word == "describe") {
      std::size_t count = 0;
      std::uint64_t seed = 0;
      if (!(line >> count >> seed)) return word == "describe" ? description(disk_.disk()) : "error";
      Disk left = PowerLoss(seed).after(disk_.at(count));
      if (word == "describe") return description(left);
      mount_.reset();  // who is still in the old one must not meet the new disk
      disk_.replace(std::move(left));
      return mount() ? "ok" : "error";
    } else {
      return "error";
    }
    return "ok";
  }

  LyingDisk disk_;
  const std::string point_;
  std::unique_ptr<Mount> mount_;
  std::string input_;
  bool frozen_ = false;
};

int run(int count, char** words) {
  Lies lies;
  if (count < 2) return 2;
  for (int i = 2; i < count; ++i) {
    if (lies.take(words[i])) continue;
    std::fprintf(stderr, "lying_fs: no such lie: %s\n", words[i]);
    return 2;
  }
  // Whoever started this may be killed, and standard input may have been inherited by another process.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  Server server(lies, words[1]);
  return server.mount() ? server.run() : 1;
}

}  // namespace
}  // namespace rdcp::lying

int main(int count, char** words) {
  return rdcp::lying::run(count, words);
}
