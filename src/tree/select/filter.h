// Decides which entries of a tree take part in a copy, by rsync's filter rules. Nothing here touches a file
// or a socket; filter_parser.h makes rules of what the user wrote.
#pragma once

#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/messages/selection.h"
#include "tree/select/filter_pattern.h"

namespace rdcp::tree {

// Immutable after create(), so any thread may query it. A query allocates nothing.
//
// Paths are relative to the root of the copy, as Entry::path is. For SRC/ (contents) they begin with what
// lies in SRC, for SRC with its own name. The first matching rule of those that count on a side decides; what
// no rule matches takes part. The caller walks the tree: it asks for a directory before what is in it, and
// does not enter one that is hidden (or protected), because the patterns alone do not hide its content.
class Filter {
 public:
  Filter() = default;  // without rules: hides nothing, protects nothing
  // Errors (protocol): there are too many rules, a pattern is empty or too long, or a side does not exist.
  static io::Result<Filter> create(const std::vector<FilterRule>& rules, bool delete_excluded = false);

  // At the source: it is not copied, and the target hears nothing of it.
  bool hides(std::string_view path, bool is_directory) const {
    return excludes(&Compiled::at_source, path, is_directory);
  }
  // At the target: --delete must leave it alone; for a directory, also all that is in it.
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
