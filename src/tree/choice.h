// What of the sources is wanted, ready to be asked.
#pragma once

#include <utility>

#include "io/result.h"
#include "tree/filter.h"
#include "tree/named_paths.h"

namespace rdcp::tree {

// Immutable while a walk runs.
struct Choice {
  Filter filter;
  Selection selection;
  NamedPaths names;
  bool recursive = true;

  // Errors (protocol): as of Filter::create.
  static io::Result<Choice> create(const Selection& selection, bool recursive, NamedPaths names) {
    auto filter = Filter::create(selection.rules, selection.delete_excluded);
    if (!filter) return filter.error();
    names.sort();
    return Choice{std::move(*filter), selection, std::move(names), recursive};
  }
};

}  // namespace rdcp::tree
