// SRC against DST: two lists in one order, merged as they come, and digests of what both have.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "cli/check_party.h"
#include "cli/differences.h"
#include "cli/options.h"

namespace rdcp::cli {

// What was looked at.
struct CheckCounts {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

class PairCheck {
 public:
  PairCheck(const Options& options, CheckParty& party, Differences& differences, CheckCounts& counts)
      : options_(options), party_(party), differences_(differences), counts_(counts) {}
  // False: it did not come to its end.
  bool run();

 private:
  // One tree's list, as far as it has come.
  struct Side {
    std::deque<tree::ListedEntry> entries;
    bool over = false;
    bool begun = false;
    std::string last;                    // path of the last entry that came
    std::optional<std::string> skipped;  // what lies beneath is not looked at: it stands for it
  };
  // A large file whose pieces are compared in any order.
  struct Pieces {
    std::string path;
    std::uint64_t left = 0;
    bool changed = false;  // while it was looked at, which has been told
    std::optional<std::pair<std::uint64_t, std::uint64_t>> differs;  // the first place: offset, length
  };

  void look_at(std::size_t side, const std::string& path);
  bool take_lists();
  bool is_in_order(const Side& side, const tree::ListedEntry& entry) const;
  bool pair_tops();
  bool drop_skipped();
  void merge();
  bool merge_one();
  void compare(const tree::ListedEntry& wanted, const tree::ListedEntry& found);
  void compare_metadata(const tree::ListedEntry& wanted, const tree::ListedEntry& found);
  void compare_content(const tree::ListedEntry& entry);
  void take_piece(Pieces& pieces, std::uint64_t offset, std::uint64_t length, std::uint64_t unit,
                  const std::vector<tree::SumFound>& found);
  bool still_alike(const std::string& path, const std::vector<tree::SumFound>& found);
  void narrow(const std::string& path, std::uint64_t offset, std::uint64_t length);

  const Options& options_;
  CheckParty& party_;
  Differences& differences_;
  CheckCounts& counts_;
  std::array<Side, 2> sides_;
  bool paired_ = false;
};

}  // namespace rdcp::cli
