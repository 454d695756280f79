// Compares a tree, which may be on several hosts, with a list of digests.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/check/check_party.h"
#include "cli/options/options.h"
#include "tree/check/sum_file.h"

namespace rdcp::cli {

class ListCheck {
 public:
  ListCheck(const Options& options, CheckParty& party) : options_(options), party_(party) {}
  // Starts the party, and compares its hosts at the same time. leave_late: as for CheckParty. Returns false
  // if the check did not come to its end.
  bool run(const std::vector<CheckedHost*>& hosts, bool leave_late);

 private:
  // How far a host's tree has been looked through for what the list does not name.
  struct Extras {
    std::string skipped = {};  // the directory that was reported last, with a slash
    bool over = false;
  };
  bool check_lines(tree::SumReader& reader);
  void ask(const tree::SumLine& line);
  void judge(const tree::SumLine& line, bool has_digest, const Reply& reply);
  bool find_extras();
  void find_extras_of(std::size_t host, Extras& extras);

  const Options& options_;
  CheckParty& party_;
  bool manifest_ = false;
  std::vector<std::uint64_t> seen_;  // hashes of the list's paths, which take 8 bytes each
};

}  // namespace rdcp::cli
