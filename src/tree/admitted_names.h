// Which names a source may say: the one door through which bytes from the wire become an Entry::path.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/result.h"

namespace rdcp::tree {

// A source may name only what lies at or beneath the landings, which the target knows from the coordinator;
// nothing that the source says counts for it. Every reader of pages and archives asks here. Immutable once
// made, so any thread may ask.
class AdmittedNames {
 public:
  // Admits nothing.
  AdmittedNames() = default;
  // landings: Entry::path of each source's top, a single component each; an empty one is the root itself.
  // Error (protocol): one of them is neither.
  static io::Result<AdmittedNames> create(const std::vector<std::string>& landings);
  // Admits all that lies beneath the root: for readers of what no peer has sent, and for a target that makes
  // nothing of the names that it is told.
  static AdmittedNames all();

  // What is wrong with the path, or null: it has the form of an Entry::path and lies at or beneath a landing.
  const char* fault_of(std::string_view path) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> tops_;
  bool all_ = false;
};

}  // namespace rdcp::tree
