#include "tree/select/destination_mapping.h"

#include <algorithm>
#include <set>

namespace rdcp::tree {

using io::ErrorKind;
using io::Result;

namespace {

bool usable(const PathFacts& facts) {
  return facts.kind != PathKind::missing && facts.kind != PathKind::unusable;
}

io::Error refuse(std::string_view path, std::string_view why) {
  return io::plain_error(ErrorKind::file, "copy to", path, why);
}

// True if a directory would be copied into itself or into something beneath it, which would never end.
bool swallows(const PathFacts& source, const TargetReady& target) {
  return source.kind == PathKind::directory &&
         std::any_of(target.ancestors.begin(), target.ancestors.end(), [&](const PathFacts& above) {
           return above.device == source.device && above.inode == source.inode;
         });
}

// A name that two SRC have would be removed from both, and DST keeps one of them; after a run that was cut
// short nobody could tell any more that there were two.
Result<void> check_apart(const std::vector<std::string>& sources, const std::vector<PathFacts>& facts,
                         LandingTerms terms) {
  if (!terms.removes_source || (sources.size() == 1 && !terms.into_directory)) return {};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (facts[i].kind != PathKind::directory || !means_contents(sources[i])) continue;
    return io::plain_error(ErrorKind::usage, "--remove-source-files", sources[i],
                           "what is in it would lie among other SRC, and of two with one name one would be "
                           "lost; copy one SRC after the other");
  }
  return {};
}

Result<DestinationMapping> land_in_place(const std::vector<PathFacts>& facts,
                                         const std::string& destination) {
  const bool bytes =
      facts.size() == 1 && (facts[0].kind == PathKind::file || facts[0].kind == PathKind::byte_stream);
  if (!bytes) return refuse(destination, "is not a directory");
  return DestinationMapping{
      .landings = {"file"}, .admitted = {"file"}, .beneath_parent = false, .in_place = true};
}

Result<DestinationMapping> land_in_directory(const std::vector<std::string>& sources,
                                             const std::vector<PathFacts>& facts,
                                             const std::string& destination) {
  DestinationMapping landing;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (facts[i].kind == PathKind::byte_stream) return refuse(destination, "is a directory");
    const bool contents = facts[i].kind == PathKind::directory && means_contents(sources[i]);
    landing.landings.push_back(contents || !usable(facts[i]) ? std::string() : last_name(sources[i]));
    const std::string& name = landing.landings.back();
    if (!usable(facts[i])) continue;
    if (!contents && (name.empty() || !is_safe_path(name))) {
      return refuse(sources[i], "is not the name of a file");
    }
    landing.admitted.push_back(name);
    if (!name.empty() && !taken.insert(name).second) {
      return refuse(sources[i], "another source has the same name at the target");
    }
  }
  return landing;
}

}  // namespace

std::string last_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool means_contents(std::string_view source) {
  return source.ends_with('/') || source == "." || source == ".." || source.ends_with("/.") ||
         source.ends_with("/..");
}

Result<DestinationMapping> land(const std::vector<std::string>& sources, const std::vector<PathFacts>& facts,
                                const std::string& destination, const TargetReady& target,
                                LandingTerms terms) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (terms.same_kernel && swallows(facts[i], target)) {
      return io::plain_error(ErrorKind::file, "copy", sources[i], "cannot copy a directory into itself");
    }
  }
  if (auto apart = check_apart(sources, facts, terms); !apart) return apart.error();
  switch (target.kind) {
    case PathKind::byte_stream:
    case PathKind::special:
      return land_in_place(facts, destination);
    case PathKind::directory:
      return land_in_directory(sources, facts, destination);
    case PathKind::missing:
    case PathKind::file:
      break;
    default:
      return refuse(destination, "is neither a file nor a directory");
  }
  const bool exists = target.kind == PathKind::file;
  const char* const why = exists ? "is not a directory" : "no such directory (--mkpath makes it)";
  if (sources.size() > 1 || terms.into_directory) return refuse(destination, why);
  if (exists && facts[0].kind == PathKind::directory) return refuse(destination, "is not a directory");
  if (destination.ends_with('/') && facts[0].kind != PathKind::directory) {
    return refuse(destination, why);
  }
  const std::string name = last_name(destination);
  if (name.empty() || !is_safe_path(name)) return refuse(destination, "no such directory");
  return DestinationMapping{
      .landings = {name}, .admitted = {name}, .beneath_parent = true, .in_place = false};
}

}  // namespace rdcp::tree
