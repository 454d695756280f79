// Finds entries of several SRC that would be put in one place.
#pragma once

#include <string>
#include <vector>

#include "tree/plan/item.h"
#include "tree/plan/root.h"
#include "tree/select/choice.h"

namespace rdcp::tree {

// Remembers nothing: it looks into the SRC that come first. Thread-safe.
class SharedPlaces {
 public:
  // Both outlive this.
  SharedPlaces(const std::vector<Root>& roots, const Choice& choice);

  // Returns the SRC before this item's one of which something lands in the same place; null if there is none,
  // if both are directories, which become one, or if both are the same file.
  const Root* taken_by(const Item& item) const;

 private:
  bool has(const Root& root, const std::string& place, const struct stat& other) const;

  const std::vector<Root>& roots_;
  const Choice& choice_;
  bool possible_ = false;  // the content of one SRC lands where others do
};

}  // namespace rdcp::tree
