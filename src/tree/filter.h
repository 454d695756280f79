// Which entries of a tree take part in a copy: rsync's filter rules. Nothing here touches a file or a socket;
// filter_parser.h makes rules of what the user wrote.
#pragma once

#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/filter_pattern.h"
#include "tree/selection.h"

namespace rdcp::tree {

// Immutable after create(), so it may be asked by any thread; a question allocates nothing.
//
// Paths are relative to the root of the copy, as Entry::path is: for SRC/ (contents) that is what lies in
// SRC, for SRC its own name comes first. Of the rules that count on a side, the first that matches decides;
// what none matches takes part. Who walks a tree asks for a directory before what is in it, and does not
// enter one that is hidden (or protected): the patterns alone do not say that its content is hidden, too.
class Filter {
 public:
  Filter() = default;  // without rules: hides nothing, protects nothing
  // Errors (protocol): too many rules, a pattern that is empty or too long, sides that do not exist.
  static io::Result<Filter> create(const std::vector<FilterRule>& rules, bool delete_excluded = false);

  // Source: it is not copied, and a target is told nothing of it.
  bool hides(std::string_view path, bool is_directory) const {
    return excludes(&Compiled::at_source, path, is_directory);
  }
  // Target: --delete must leave it alone, and with a directory all that is in it.
  bool protects(std::string_view path, bool is_directory) const {
    return excludes(&Compiled::at_target, path, is_directory);
  }
  bool empty() const { return rules_.empty(); }

 private:
  struct Compiled {
    Pattern pattern;
    bool include;
    bool negated;
    bool at_source;
    bool at_target;
  };
  bool excludes(bool Compiled::*side, std::string_view path, bool is_directory) const;

  std::vector<Compiled> rules_;
};

}  // namespace rdcp::tree
