// Compares SRC with DST, which may be on several hosts: merges their lists, which have one order, as they
// come, and compares digests of what both have.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/check_party.h"
#include "cli/check/list_merge.h"
#include "cli/options/options.h"

namespace rdcp::cli {

// The source is listed and read once, and all hosts at the same time. Where hosts differ in a file, it reads
// once more what these are asked for.
class TreeCheck {
 public:
  // party: has been started, with the source.
  TreeCheck(const Options& options, CheckParty& party);
  // Compares with all hosts of the party. Returns false if the check did not come to its end.
  bool run();

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;     // offset, length
  using Places = std::map<Range, std::vector<std::size_t>>;  // where which hosts differ
  // How far DST's own path is settled: it may be a directory that SRC, a file, would lie in.
  enum class Top : unsigned char { unknown, within_unknown, known };
  // A file whose pieces are compared in any order.
  struct Content {
    struct AtHost {
      std::size_t agent = 0;
      bool changed = false;          // it changed or became unreadable meanwhile, which was reported
      std::optional<Range> differs;  // the first difference
    };
    std::string path;
    std::uint64_t size = 0;
    std::uint64_t asked = 0;  // bytes
    std::uint64_t left = 0;   // pieces
    std::vector<AtHost> hosts;
    std::vector<std::size_t> agents;  // the source's and theirs
  };

  bool compare_all();
  void look_at(std::size_t side, const std::string& path);
  void take_lists();
  bool take_list(std::size_t side);
  bool settle_tops();
  void settle_top(std::size_t side, const tree::ListedEntry& wanted);
  void leave_out(std::size_t side);
  bool tops_are_known() const;
  void merge();
  void compare(const tree::ListedEntry& wanted, const std::vector<ListMerge::Match>& found);
  bool compare_with(const tree::ListedEntry& wanted, const ListMerge::Match& match);
  void compare_metadata(const tree::ListedEntry& wanted, const ListMerge::Match& match);
  void compare_content(const tree::ListedEntry& entry, std::vector<std::size_t> agents);
  void ask_piece();
  void take_piece(Content& content, const tree::SumItem& item, const Replies& replies);
  bool still_alike(const std::string& path, const tree::SumFound& wanted, const Reply& reply);
  void narrow(const std::string& path, const Places& places);
  void take_narrowed(const tree::SumItem& item, const Replies& replies);
  Differences& differences(std::size_t agent) { return party_.host(agent).differences; }

  const Options& options_;
  CheckParty& party_;
  ListMerge merge_;
  std::vector<Top> tops_;
  std::shared_ptr<Content> asking_;  // of which not all pieces have been asked for
};

}  // namespace rdcp::cli
