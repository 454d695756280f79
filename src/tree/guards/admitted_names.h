// Decides which names a source may use. Bytes from the wire become an Entry::path only through this.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/result.h"

namespace rdcp::tree {

// A source may name only what lies at or beneath the landings. The target knows these from the coordinator,
// and the source cannot change them. All readers of pages and archives ask here. Immutable, so any thread may
// ask.
class AdmittedNames {
 public:
  // Admits nothing.
  AdmittedNames() = default;
  // landings has the Entry::path of each source's top: a single component, or nothing for the root itself.
  // Any other one is an Error (protocol).
  static io::Result<AdmittedNames> create(const std::vector<std::string>& landings);
  // Admits all that lies beneath the root. It is for readers of what no peer has sent, and for a target that
  // ignores the names that it is sent.
  static AdmittedNames all();

  // Returns what is wrong with the path, or null if it has the form of an Entry::path and lies at or beneath
  // a landing.
  const char* fault_of(std::string_view path) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> tops_;
  bool all_ = false;
};

}  // namespace rdcp::tree
