// Finds the hosts that hold up all the others of a chain, from what each target is busy with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tree/messages/chain.h"

namespace rdcp::cli {

// All hosts of a chain go at the pace of the slowest. So their rates tell nothing, but a host that waits for
// others has little to do: it can go faster by as much. A host has two things that may be busy: its disk, and
// the link to it from its parent, which is the host before it or the source.
//
// Hosts are slow if without them the others could go kTimesFaster as fast, in each of kWindowsInRow windows.
// A busy link is put down to one of the hosts at its ends: the one on which other busy links end or begin,
// too, else the one that it leads to. The link from the source is put down to its host only if a link from
// there is busy, too; alone it may be the source's, and then nobody leaves. Not thread-safe.
class SlowHosts {
 public:
  static constexpr double kTimesFaster = 3;
  static constexpr double kBusy = 0.9;  // a share of the time
  static constexpr std::uint64_t kWindowUs = 1'000'000;
  static constexpr unsigned kWindowsInRow = 5;
  // The others are to be done earlier by this, with kRestartSeconds for another chain.
  static constexpr double kSecondsSaved = 8, kRestartSeconds = 3;

  struct Terms {
    // The hosts that take part, each with the one before it; nothing stands for the source.
    std::map<std::size_t, std::optional<std::size_t>> parents;
    std::size_t may_leave = 0;           // how many, at most
    std::uint64_t bytes_per_second = 0;  // nobody can go faster, for the user has set it; 0: no limit
  };
  void begin(Terms terms);
  // Takes what a host has been busy with since its begin. A window ends when one second has passed, and
  // chunks have come, at each host.
  void take(std::size_t host, const tree::Pace& pace);

  struct Slow {
    std::size_t host = 0;
    std::string why;
  };
  // Returns the hosts that the others should go on without. Empty: they all stay. bytes_left: to be copied
  // yet, where that is known.
  std::vector<Slow> slow(std::optional<std::uint64_t> bytes_left) const;

  struct Speed {
    std::size_t host = 0;
    double bytes_per_second = 0;  // what it could do by itself in the last window
    const char* of = "";          // "its disk" or "its link", whichever is the slower one
  };
  // Returns the slowest hosts, the slowest one first.
  std::vector<Speed> slowest(std::size_t most) const;

 private:
  // Says what a host did in a window: shares of its time, or of the time of its slots.
  struct Window {
    double bytes_per_second = 0;
    double link = 0, disk = 0;     // busy
    double in_work = 0, held = 0;  // slots: in its own work, and in this or waiting for others
    double busiest() const { return link > disk ? link : disk; }
    const char* busiest_part() const;
  };
  struct Host {
    tree::Pace from, to;  // the window that goes on
    bool heard = false, full = false;
    Window last;
    tree::Pace row_from;  // when the first window of in_row_ began
    Window row;           // all of these together
  };
  // A disk, or a link.
  struct Part {
    std::size_t host = 0;  // for a link, the one that it leads to
    bool is_link = false;
    double busy = 0;
  };

  static Window window_of(const tree::Pace& from, const tree::Pace& to);
  bool has_parent(std::size_t host, const std::set<std::size_t>& among) const;
  std::vector<Part> parts() const;
  bool holds_others_up(const Part& part) const;
  std::size_t busy_parts(const std::vector<Part>& parts) const;
  std::optional<std::set<std::size_t>> hosts_of(std::vector<Part> busy) const;
  std::set<std::size_t> find_slow() const;
  bool others_have_fast_links(const std::set<std::size_t>& slow) const;
  void end_window();
  double others_could() const;  // bytes per second

  Terms terms_;
  std::map<std::size_t, Host> hosts_;
  std::size_t full_ = 0;         // hosts whose window could end
  std::set<std::size_t> found_;  // slow in the last window
  unsigned in_row_ = 0;          // the windows in which they were
};

}  // namespace rdcp::cli
