// A tree against a list of digests that was kept.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/check_party.h"
#include "cli/differences.h"
#include "cli/options.h"
#include "cli/pair_check.h"
#include "tree/sum_file.h"

namespace rdcp::cli {

class ListCheck {
 public:
  ListCheck(const Options& options, CheckParty& party, Differences& differences, CheckCounts& counts)
      : options_(options), party_(party), differences_(differences), counts_(counts) {}
  // False: it did not come to its end.
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
  std::vector<std::uint64_t> seen_;  // a number for each path of the list: 8 bytes an entry
};

}  // namespace rdcp::cli
