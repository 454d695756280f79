// Judges whether a path loses packets though no queue on it is full.
#pragma once

#include <chrono>
#include <cstdint>

namespace rdcp::net {

// A congestion control that takes each loss for a full queue (cubic, reno) sends ever less over such a path:
// with 100 ms and one packet of a thousand lost, 0.6 MB/s. One that measures what the path carries (bbr)
// does not. A queue that fills makes round trips longer before it loses anything.
class LossyPath {
 public:
  // Holds what the kernel knows of a connection (tcp_info). The counts are totals.
  struct Sample {
    std::uint32_t sent_again = 0;                // packets
    std::chrono::microseconds round_trip{0};     // of late
    std::chrono::microseconds shortest_trip{0};  // so far
  };

  // Takes a sample, about one in a second. Returns true once the path has been seen to be such a one.
  bool take(const Sample& sample);

 private:
  std::uint32_t sent_again_ = 0;
  int lossy_seconds_ = 0;
};

}  // namespace rdcp::net
