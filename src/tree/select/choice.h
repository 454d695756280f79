// Which part of the sources takes part, in a form that can be queried.
#pragma once

#include <utility>

#include "io/result.h"
#include "tree/select/filter.h"
#include "tree/select/named_paths.h"

namespace rdcp::tree {

// Immutable while a walk runs.
struct Choice {
  Filter filter;
  Selection selection;
  NamedPaths names;
  bool recursive = true;

  // Errors: those of Filter::create() (protocol).
  static io::Result<Choice> create(const Selection& selection, bool recursive, NamedPaths names) {
    auto filter = Filter::create(selection.rules, selection.delete_excluded);
    if (!filter) return filter.error();
    names.sort();
    return Choice{std::move(*filter), selection, std::move(names), recursive};
  }
};

}  // namespace rdcp::tree
