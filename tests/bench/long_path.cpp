// A long path between two network devices, for people and scripts/bench: it makes two TAP devices (tun(4)),
// and what one of them sends comes out of the other some time later, or not at all.
//
//   long_path NEAR FAR DELAY_MS LOSS MBIT
//
// DELAY_MS: each way. LOSS: the share of packets that are lost (0 to 1), the same ones in each run. MBIT: the
// rate each way, 0 for none; a packet that would wait for longer than a fifth of a second is lost. It says
// "ready" once the devices are there, and ends with its standard input.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kPacketMax = 65536;
constexpr std::size_t kHeldMax = std::size_t{256} << 20;  // bytes on the way
constexpr std::size_t kAtOnce = 64;                       // packets that are taken before others are let out
constexpr Seconds kWaitMax{0.2};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

int open_device(const char* name) {
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) give_up("/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(device, TUNSETIFF, &request) != 0) give_up(name);
  return device;
}

struct Path {
  double delay_seconds = 0;
  double loss = 0;
  double bytes_per_second = 0;  // 0: as fast as it goes
};

// Holds the packets of one direction while they are on the way.
class Direction {
 public:
  Direction(int from, int to, const Path& path, unsigned seed)
      : from_(from), to_(to), path_(path), chance_(seed) {}

  int from() const { return from_; }
  void lose(double share) { path_.loss = share; }

  // Takes what has been sent. Returns whether there may be more.
  bool take() {
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      const ssize_t size = read(from_, packet_, sizeof packet_);
      if (size <= 0) return false;
      send_off(static_cast<std::size_t>(size));
    }
    return true;
  }

  // Lets out what has arrived. Returns when the next packet will.
  Clock::time_point deliver() {
    const auto now = Clock::now();
    while (!held_.empty() && held_.front().due <= now) {
      const auto& bytes = held_.front().bytes;
      // A device that is not up yet, or is full, loses the packet, as any other would.
      if (write(to_, bytes.data(), bytes.size()) < 0 && errno != EAGAIN && errno != EIO) give_up("write");
      held_bytes_ -= bytes.size();
      held_.pop_front();
    }
    return held_.empty() ? Clock::time_point::max() : held_.front().due;
  }

 private:
  struct Packet {
    Clock::time_point due;
    std::vector<unsigned char> bytes;
  };

  void send_off(std::size_t size) {
    if (held_bytes_ + size > kHeldMax || share_(chance_) < path_.loss) return;
    auto sent = Clock::now();
    if (path_.bytes_per_second > 0) {
      const auto begin = std::max(sent, free_at_);
      if (begin - sent > kWaitMax) return;
      free_at_ = sent = begin + std::chrono::duration_cast<Clock::duration>(
                                    Seconds(static_cast<double>(size) / path_.bytes_per_second));
    }
    held_.push_back({sent + std::chrono::duration_cast<Clock::duration>(Seconds(path_.delay_seconds)),
                     {packet_, packet_ + size}});
    held_bytes_ += size;
  }

  int from_;
  int to_;
  Path path_;
  std::mt19937 chance_;
  std::uniform_real_distribution<> share_;
  std::deque<Packet> held_;
  std::size_t held_bytes_ = 0;
  Clock::time_point free_at_;
  unsigned char packet_[kPacketMax];
};

// Reads the share of packets that is to be lost. None: the input has ended.
std::optional<double> read_loss() {
  char line[64];
  if (std::fgets(line, sizeof line, stdin) == nullptr) return std::nullopt;
  return std::atof(line);
}

timespec time_until(Clock::time_point time) {
  const auto left = std::max(time - Clock::now(), Clock::duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: long_path NEAR FAR DELAY_MS LOSS MBIT\n");
    return 2;
  }
  const Path path{std::atof(argv[3]) / 1e3, std::atof(argv[4]), std::atof(argv[5]) * 1e6 / 8};
  const int near = open_device(argv[1]);
  const int far = open_device(argv[2]);
  // What waits for the processor here would look like a worse path. Who may not ask for this goes without.
  const sched_param first{.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO, &first);
  static Direction there(near, far, path, 1);
  static Direction back(far, near, path, 2);
  std::setvbuf(stdin, nullptr, _IONBF, 0);  // what has been read would not be polled for
  std::printf("ready\n");
  std::fflush(stdout);
  for (;;) {
    pollfd ends[] = {{near, POLLIN, 0}, {far, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    const auto next = std::min(there.deliver(), back.deliver());
    const bool is_idle = next == Clock::time_point::max();
    const auto limit = is_idle ? timespec{} : time_until(next);
    if (ppoll(ends, 3, is_idle ? nullptr : &limit, nullptr) < 0 && errno != EINTR) give_up("ppoll");
    if (ends[2].revents != 0) {
      const auto loss = read_loss();
      if (!loss) return 0;
      there.lose(*loss);
      back.lose(*loss);
    }
    for (bool more = true; more;) {
      more = there.take();
      more = back.take() || more;
      there.deliver();
      back.deliver();
    }
  }
}
