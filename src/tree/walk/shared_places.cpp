#include "tree/walk/shared_places.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tree/meta/file_id.h"
#include "tree/select/destination_mapping.h"

namespace rdcp::tree {

namespace {

// Returns the path at the target of a SRC's top, if there are several SRC: they go into DST by their names.
std::string top_of(const Root& root) {
  return root.single ? last_name(root.given) : root.filter_path;
}

// Returns the path beneath the SRC's top of what lands at `place`; nothing if nothing of it can land there.
std::optional<std::string> path_for(const Root& root, const std::string& place) {
  const std::string top = top_of(root);
  if (top == place) return "";
  if (root.single) return std::nullopt;
  if (top.empty()) return place;
  if (place.starts_with(top) && place[top.size()] == '/') return place.substr(top.size() + 1);
  return std::nullopt;
}

}  // namespace

SharedPlaces::SharedPlaces(const std::vector<Root>& roots, const Choice& choice)
    : roots_(roots), choice_(choice) {
  const auto is_content = [](const Root& root) { return !root.single && root.filter_path.empty(); };
  possible_ = roots.size() > 1 && std::ranges::any_of(roots, is_content);
}

const Root* SharedPlaces::taken_by(const Item& item) const {
  if (!possible_) return nullptr;
  const std::string place =
      item.root().single ? top_of(item.root()) : join_path(top_of(item.root()), item.local_path());
  for (const Root& root : roots_) {
    if (&root == &item.root()) break;
    if (has(root, place, item.status)) return &root;
  }
  return nullptr;
}

// Returns true if the SRC has something for the place that cannot be there together with the `other` entry.
bool SharedPlaces::has(const Root& root, const std::string& place, const struct stat& other) const {
  const auto path = path_for(root, place);
  if (!path || root.opened) return false;
  const int last = root.follows ? 0 : O_NOFOLLOW;
  const io::Fd fd = root.open(root.single ? root.name : *path, O_PATH | last);
  struct stat status {};
  struct stat top {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || ::fstat(root.fd.get(), &top) != 0) return false;
  const bool is_directory = S_ISDIR(status.st_mode);
  if (is_directory && S_ISDIR(other.st_mode)) return false;
  if (FileId::of(status) == FileId::of(other)) return false;  // the same file was named twice
  if (choice_.selection.one_file_system && !root.single && status.st_dev != top.st_dev && !is_directory)
    return false;
  if (S_ISREG(status.st_mode) && !choice_.selection.sends_size(static_cast<std::uint64_t>(status.st_size)))
    return false;
  return choice_.filter.empty() || !choice_.filter.hides(place, is_directory);
}

}  // namespace rdcp::tree
