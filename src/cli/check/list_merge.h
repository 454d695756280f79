// Walks the list of a source and those of any number of targets together. All of them have one order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tree/messages/check_job.h"

namespace rdcp::cli {

// The sides are numbered: kSource, and the targets from 1 on. What a side's agent sends is checked, because
// an agent is not trusted to keep the order or to send sound paths. An entry of the source is taken when each
// target has come to it, so a target that lags holds the others: no side is to send more while it does not
// want more, and so no list is held in full. Not thread-safe.
class ListMerge {
 public:
  static constexpr std::size_t kSource = 0;
  struct Match {
    std::size_t side = 0;
    tree::ListedEntry found;
  };
  // These hear what the lists say, in their order. A directory that only one side has is told without what is
  // in it.
  struct Hear {
    std::function<void(std::size_t side, const tree::ListedEntry&)> missing;  // that target lacks it
    std::function<void(std::size_t side, const tree::ListedEntry&)> extra;    // the source lacks it
    // Targets have what the source has, of one type or another.
    std::function<void(const tree::ListedEntry& wanted, const std::vector<Match>& found)> both;
  };

  ListMerge(std::size_t targets, Hear hear);
  std::size_t sides() const { return sides_.size(); }

  // Adds the next page of a side's list. Returns false, and the side is not to be used any more, if it is not
  // in order.
  bool add(std::size_t side, tree::Listed page);
  // Takes note that a side's list has nothing at or beneath this path, which has been reported.
  void add_unlisted(std::size_t side, std::string path);
  // True while the side has so few entries that more may be asked for.
  bool wants_more(std::size_t side) const { return sides_[side].entries.size() <= waiting_max_; }

  // Returns the next entry of a side that has come, or null.
  const tree::ListedEntry* next_of(std::size_t side) const;
  // True if the side's list has come to its end, and there was nothing in it.
  bool is_empty(std::size_t side) const { return sides_[side].over && !sides_[side].begun; }
  // Forgets a target's list, in whose place another one comes.
  void begin_anew(std::size_t side) { sides_[side] = {}; }
  // Leaves a target out: nothing more is told of it, and nobody waits for it.
  void leave_out(std::size_t side);
  bool is_left_out(std::size_t side) const { return sides_[side].left_out; }

  // Takes the source's next entry, and what the targets have before it. Returns false if nothing can be done
  // before more entries have come.
  bool take_next();
  // True if all lists have come to their end, and all of them was taken.
  bool is_over() const;
  // Returns how many paths of the source or the target were compared.
  std::uint64_t compared(std::size_t side) const { return sides_[side].compared; }

  static constexpr std::size_t kWaitingMax = 4096;  // entries of a side
  static constexpr std::size_t kUnlistedMax = 1024;

 private:
  // One list, as far as it has come.
  struct Side {
    std::deque<tree::ListedEntry> entries;
    bool over = false;
    bool begun = false;
    bool left_out = false;
    bool meets = false;                  // a target's next entry has the path of the source's
    std::string last;                    // path of the last entry that came
    std::optional<std::string> skipped;  // a directory that was told as a whole, with all beneath it
    std::optional<std::string> skipped_of_source;
    std::vector<std::string> unlisted;
    std::uint64_t compared = 0;
  };

  static bool is_in_order(const Side& side, const tree::ListedEntry& entry);
  bool catch_up(std::size_t number, const tree::ListedEntry* wanted);
  void take_extra(std::size_t number);
  void take_wanted();

  const Hear hear_;
  const std::size_t waiting_max_;
  std::vector<Side> sides_;
};

}  // namespace rdcp::cli
