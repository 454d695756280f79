// Compares SRC with DST: merges two lists, which have the same order, as they come, and compares digests of
// what both have.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "cli/inspect/check_party.h"
#include "cli/inspect/differences.h"
#include "cli/options/options.h"

namespace rdcp::cli {

// How much was compared.
struct CheckCounts {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

class PairCheck {
 public:
  PairCheck(const Options& options, CheckParty& party, Differences& differences, CheckCounts& counts)
      : options_(options), party_(party), differences_(differences), counts_(counts) {}
  // Returns false if the check did not come to its end.
  bool run();

 private:
  // One tree's list, as far as it has come.
  struct Side {
    std::deque<tree::ListedEntry> entries;
    bool over = false;
    bool begun = false;
    std::string last;                    // path of the last entry that came
    std::optional<std::string> skipped;  // a directory that was reported as a whole, with all beneath it
    std::vector<std::string> unlisted;   // at or beneath these something may be that was not listed
  };
  // A file whose pieces are compared in any order.
  struct Pieces {
    std::string path;
    std::uint64_t left = 0;
    bool changed = false;  // it changed or became unreadable meanwhile, which was reported
    std::optional<std::pair<std::uint64_t, std::uint64_t>> differs;  // the first difference: offset, length
  };

  void look_at(std::size_t side, const std::string& path);
  static void note_unlisted(Side& side, std::string path);
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
