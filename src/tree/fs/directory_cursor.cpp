#include "tree/fs/directory_cursor.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "tree/fs/beneath.h"

namespace rdcp::tree {

namespace {

// True if path is `above` or lies beneath it.
bool is_within(std::string_view path, std::string_view above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

}  // namespace

int DirectoryCursor::open(std::string_view path) {
  int reached = step_to(path);
  if (reached >= 0 || errno != EACCES || opened_ == nullptr) return reached;
  // One of the directories on the way must not be searched. Each is reached before what lies in it.
  for (std::size_t above = 0; above < path.size();) {
    const std::size_t end = std::min(path.find('/', above == 0 ? 0 : above + 1), path.size());
    reached = step_to(path.substr(0, end));
    const bool closed = reached < 0 && errno == EACCES;
    if (closed && open_up(step_to(path.substr(0, above)), path.substr(0, above)))
      reached = step_to(path.substr(0, end));
    if (reached < 0) return reached;
    above = end;
  }
  return reached;
}

int DirectoryCursor::step_to(std::string_view path) {
  if (path.empty()) return root_;
  if (!missing_.empty() && is_within(path, missing_)) {
    errno = ENOENT;
    return -1;
  }
  while (!steps_.empty() && !is_within(path, steps_.back().path)) steps_.pop_back();
  if (!steps_.empty() && steps_.back().path.size() == path.size()) return steps_.back().fd.get();
  const int from = steps_.empty() ? root_ : steps_.back().fd.get();
  const std::string_view rest = steps_.empty() ? path : path.substr(steps_.back().path.size() + 1);
  io::Fd fd = open_beneath(from, rest, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) {
    if (errno == ELOOP) errno = ENOTDIR;
    if (errno == ENOENT || errno == ENOTDIR) missing_ = path;
    return -1;
  }
  if (steps_.size() == kHeld) steps_.clear();
  steps_.push_back({std::string(path), std::move(fd)});
  return steps_.back().fd.get();
}

void DirectoryCursor::forget() {
  steps_.clear();
  missing_.clear();
}

}  // namespace rdcp::tree
