// Compares a tree with a list of digests.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/inspect/check_party.h"
#include "cli/inspect/differences.h"
#include "cli/inspect/pair_check.h"
#include "cli/options/options.h"
#include "tree/check/sum_file.h"

namespace rdcp::cli {

class ListCheck {
 public:
  ListCheck(const Options& options, CheckParty& party, Differences& differences, CheckCounts& counts)
      : options_(options), party_(party), differences_(differences), counts_(counts) {}
  // Returns false if the check did not come to its end.
  bool run();

 private:
  bool check_lines(tree::SumReader& reader);
  void ask(const tree::SumLine& line);
  void judge(const tree::SumLine& line, const tree::SumFound& found);
  bool find_extras();

  const Options& options_;
  CheckParty& party_;
  Differences& differences_;
  CheckCounts& counts_;
  bool manifest_ = false;
  std::vector<std::uint64_t> seen_;  // hashes of the list's paths, which take 8 bytes each
};

}  // namespace rdcp::cli
