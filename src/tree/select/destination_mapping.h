// Decides where a copy lands: by the rules of cp -a and scp -r, with rsync's trailing slash. The table is in
// README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/messages/job.h"

namespace rdcp::tree {

// True if SRC means a directory's contents: "dir/", ".", "..", "dir/.", "/".
bool means_contents(std::string_view source);

// Returns "b" for "a/b/".
std::string last_name(std::string_view path);

// The result of the rules; the fields go into Begin.
struct DestinationMapping {
  // Entry::path of each source's top, in the order of sources, with "" for unusable ones. The source gets
  // this list.
  std::vector<std::string> landings;
  // The same, but only for sources that can be copied. The target gets this list, and accepts nothing outside
  // it.
  std::vector<std::string> admitted;
  bool beneath_parent = false;
  bool in_place = false;
};

struct LandingTerms {
  bool same_kernel = false;     // both agents run on one host, so SRC must not hold DST
  bool into_directory = false;  // these are some of several SRC, so DST must be a directory
  bool removes_source = false;  // --remove-source-files
};

// sources and facts are in the same order. Errors (file) name SRC or DST: DST is not a directory although
// there are several SRC or SRC is one, a name would be taken twice, a name is not valid ("..", which a source
// calls a file), or a directory would be copied into itself. It is an error (usage) if SRC is removed and the
// content of one SRC would lie among others.
io::Result<DestinationMapping> land(const std::vector<std::string>& sources,
                                    const std::vector<PathFacts>& facts, const std::string& destination,
                                    const TargetReady& target, LandingTerms terms);

}  // namespace rdcp::tree
