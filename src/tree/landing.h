// Where a copy lands: the rules of cp -a and scp -r, with rsync's trailing slash. The table is in README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/job.h"

namespace rdcp::tree {

// True when SRC means a directory's contents: "dir/", ".", "..", "dir/.", "/".
bool means_contents(std::string_view source);

// "a/b/" -> "b".
std::string last_name(std::string_view path);

// What the rules say of a copy; the fields go into Begin.
struct Landing {
  // Entry::path of each source's top: for the source, in the order of sources, "" for unusable ones too.
  std::vector<std::string> landings;
  // The same of those that can be copied: for the target, which takes nothing outside of them.
  std::vector<std::string> admitted;
  bool beneath_parent = false;
  bool in_place = false;
};

// sources and facts are in the same order. same_kernel: both agents run on one host, so that inode numbers
// can be compared and a directory is not copied into itself. into_directory: these are some of several SRC,
// so DST must be a directory. Errors (file) name SRC or DST: DST is no directory for several SRC or for a
// directory, a name that would be taken twice or that is none ("..", which a source calls a file), a
// directory into itself.
io::Result<Landing> land(const std::vector<std::string>& sources, const std::vector<PathFacts>& facts,
                         const std::string& destination, const TargetReady& target, bool same_kernel,
                         bool into_directory = false);

}  // namespace rdcp::tree
