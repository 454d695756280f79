// Draws the progress line on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdcp::cli {

// How many hosts a copy has for its targets, and what has become of them so far. One target is not counted.
struct HostCounts {
  std::size_t all = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::size_t going() const { return all - done - failed; }  // or still waiting
};

struct ProgressState {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;  // of the files found so far
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
  bool walk_finished = false;  // the totals are final
  std::string path;            // what is being copied; raw bytes
  HostCounts hosts = {};
};

// Formats the line for a terminal of `columns` cells, and never makes it longer: "27%  12.3/45.6 GB  7/90
// files 3.21 GB/s  ETA 0:12  path". While the walk goes on, the totals have a plus sign, the percentage is
// "--%" and the ETA "--:--". Several hosts come after the percentage: "13 hosts, 2 done, 1 failed". The path
// is made printable and shortened in the middle. Where columns are few, the path goes first, then the files,
// the bytes, the rate and the hosts.
std::string progress_line(const ProgressState& state, double bytes_per_second, std::size_t columns);

// Returns how many cells of a terminal the text takes: Unicode's East Asian wide characters take two, what
// combines with the character before it takes none. text must be valid UTF-8.
std::size_t cells_of(std::string_view text);

// Returns the text in at most so many cells. If it is wider, "..." takes the place of its middle, and the
// end, where file names differ, keeps the larger part. text must be valid UTF-8.
std::string shorten_middle(const std::string& text, std::size_t cells);

using ProgressClock = std::chrono::steady_clock;

// Measures bytes per second over the last kWindow.
class RateMeter {
 public:
  static constexpr std::chrono::seconds kWindow{5};
  void add(ProgressClock::time_point now, std::uint64_t bytes_done);
  double bytes_per_second() const;  // 0 until there are two samples

 private:
  struct Sample {
    ProgressClock::time_point time;
    std::uint64_t bytes_done;
  };
  std::deque<Sample> samples_;
};

// True if a progress line is wanted on fd: it is forced, or fd is a terminal that can redraw a line and
// `quiet` is false.
bool progress_wanted(bool forced, bool quiet, int fd);

// Draws the progress line on fd, which it does not own, and a table below it where one is to be shown. Not
// thread-safe.
class Progress {
 public:
  static constexpr std::chrono::milliseconds kInterval{100};

  explicit Progress(bool enabled, int fd = 2) : enabled_(enabled), fd_(fd) {}

  // A table shows on a terminal of this many columns, or on any terminal if it is always wanted.
  static constexpr std::size_t kTableColumns = 100;
  static constexpr std::size_t kTableRows = 5;
  // rows: returns at most so many.
  using Rows = std::function<std::vector<std::string>(std::size_t most)>;
  void show_table(Rows rows, bool always) {
    rows_ = std::move(rows);
    always_table_ = always;
  }

  // Redraws the line, at most once per kInterval, and not while this process is in the terminal's background.
  void update(const ProgressState& state, ProgressClock::time_point now = ProgressClock::now());
  // Erases the line; to be called before anything else is printed, and at the end.
  void clear();
  // True if its user has seen a line.
  bool ever_drawn() const { return ever_drawn_; }

 private:
  std::vector<std::string> table(std::size_t columns) const;

  bool enabled_;
  int fd_;
  Rows rows_;
  bool always_table_ = false;
  std::size_t drawn_ = 0;  // lines that are there now
  bool ever_drawn_ = false;
  ProgressClock::time_point next_draw_{};
  RateMeter rate_;
};

}  // namespace rdcp::cli
