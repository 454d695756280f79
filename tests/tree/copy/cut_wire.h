// A TCP connection that breaks at a chosen point, between the bytes of a frame or behind an answer.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <thread>

#include "net/stream/frame.h"
#include "net/tcp/tcp.h"
#include "tests/net/tcp/tcp_pair.h"
#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
// So many bytes to the target: all but those of the frame that ends the stream.
inline constexpr std::uint64_t kAllButTheEnd = kNever - 1;

// Carries bytes between a source and a target, up to a number of them in either direction. Then both ends see
// the end, or only one is reset: the other looks sound, and what it sends is swallowed.
class CutWire {
 public:
  enum class Ends { both, target, source };

  CutWire(std::uint64_t bytes_to_target, std::uint64_t bytes_to_source, Ends ends = Ends::both)
      : left_{bytes_to_target, bytes_to_source}, cut_(ends) {
    net::make_blocking(near_.target);
    net::make_blocking(far_.source);
    thread_ = std::thread([this] { carry(); });
  }
  CutWire(const CutWire&) = delete;
  CutWire& operator=(const CutWire&) = delete;
  ~CutWire() { thread_.join(); }

  StreamEnds ends(const net::StreamShape& shape) {
    auto source = std::make_shared<io::Fd>(std::move(near_.source));
    auto target = std::make_shared<io::Fd>(std::move(far_.target));
    return {[=](io::Ring& ring, io::Arena&) { return net::make_tcp_source(ring, std::move(*source), shape); },
            [=](io::Ring& ring, io::Arena& arena) {
              return net::make_tcp_target(ring, std::move(*target), shape, arena);
            }};
  }

 private:
  void carry() {
    std::array<pollfd, 2> ends{pollfd{near_.target.get(), POLLIN, 0}, pollfd{far_.source.get(), POLLIN, 0}};
    bool going = true;
    while (going && (ends[0].fd >= 0 || ends[1].fd >= 0)) {
      ::poll(ends.data(), ends.size(), -1);
      for (std::size_t i = 0; i < ends.size() && going; ++i) {
        if (ends[i].fd < 0 || ends[i].revents == 0) continue;
        const int to = i == 0 ? far_.source.get() : near_.target.get();
        going = carry_some(ends[i].fd, to, left_[i]);
      }
    }
    if (!going && cut_ == Ends::target) swallow(near_.target, far_.source);
    if (!going && cut_ == Ends::source) swallow(far_.source, near_.target);
    near_.target.reset();
    far_.source.reset();
  }

  // Until the end that knows nothing is closed by whom it belongs to.
  static void swallow(const io::Fd& open, io::Fd& reset) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(reset.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    reset.reset();
    std::array<std::byte, 20'000> bytes;
    while (::recv(open.get(), bytes.data(), bytes.size(), 0) > 0) {
    }
  }

  // A stream ends when everything before has been answered, so nothing else arrives with its last frame.
  static bool is_end(std::span<const std::byte> arrived) {
    if (arrived.size() != net::kFrameBytes) return false;
    const auto frame = net::decode(arrived.first<net::kFrameBytes>());
    return frame && frame->kind == net::FrameKind::end;
  }

  // Returns false if the wire is cut. At its end a direction is closed.
  static bool carry_some(int& from, int to, std::uint64_t& left) {
    std::array<std::byte, 20'000> bytes;
    const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
    if (got <= 0) {
      ::shutdown(to, SHUT_WR);
      from = -1;
      return true;
    }
    const std::span<const std::byte> arrived(bytes.data(), static_cast<std::size_t>(got));
    if (left == kAllButTheEnd && is_end(arrived)) return false;
    const std::uint64_t passed = std::min(left, static_cast<std::uint64_t>(got));
    if (::send(to, bytes.data(), passed, MSG_NOSIGNAL) < 0) return false;
    if (left < kAllButTheEnd) left -= passed;
    return left > 0;
  }

  net::TcpPair near_;  // source to here
  net::TcpPair far_;   // here to target
  std::array<std::uint64_t, 2> left_;
  const Ends cut_;
  std::thread thread_;
};

}  // namespace rdcp::tree
