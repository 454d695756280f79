// Decides which names a source may use. Bytes from the wire become an EntryPath only through this.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/result.h"
#include "tree/meta/entry_path.h"

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
  // Admits all that has the form of a path. It is for readers of what no peer has sent, and for a target that
  // ignores the names that it is sent.
  static AdmittedNames all();

  // Makes `to` the path that these bytes are, if they have the form of one and lie at or beneath a landing,
  // and returns null. Otherwise returns what is wrong with them, and `to` is empty. Reuses the memory of
  // `to`.
  const char* admit(std::string_view bytes, EntryPath& to) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> tops_;
  bool all_ = false;
};

}  // namespace rdcp::tree
