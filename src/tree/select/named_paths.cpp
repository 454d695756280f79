#include "tree/select/named_paths.h"

#include <algorithm>

namespace rdcp::tree {

using io::Result;

namespace {

// A slash comes before all bytes of names, so what lies in a directory directly follows the directory.
bool before(std::string_view a, std::string_view b) {
  const auto rank = [](char c) { return c == '/' ? 0u : static_cast<unsigned char>(c) + 1u; };
  return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
}

std::string_view first_name(std::string_view path) {
  return path.substr(0, path.find('/'));
}

}  // namespace

Result<void> NamedPaths::add(const PathsNamed& part) {
  if (!has_room(part) || (!part.paths.empty() && part.paths.back() != '\0')) {
    return io::plain_error(io::ErrorKind::protocol, "list of paths", "", "too long");
  }
  for (std::string_view rest = part.paths; !rest.empty();) {
    const std::size_t end = rest.find('\0');
    add_path(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return {};
}

bool NamedPaths::has_room(const PathsNamed& part) const {
  if (part.paths.size() > PathsNamed::kBytesMax) return false;
  const auto paths = static_cast<std::size_t>(std::ranges::count(part.paths, '\0'));
  return bytes_.size() + part.paths.size() + (paths_.size() + paths) * sizeof(Piece) <= kBytesMax;
}

void NamedPaths::add_path(std::string_view path) {
  const std::size_t begin = bytes_.size();
  const std::string_view last = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const bool content = last.empty() || last == "." || last == "..";
  while (!path.empty()) {
    const std::string_view name = first_name(path);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (name == "..") {
      const std::size_t slash = bytes_.rfind('/');
      bytes_.resize(slash == bytes_.npos || slash < begin ? begin : slash);
    } else if (!name.empty() && name != ".") {
      if (bytes_.size() > begin) bytes_ += '/';
      bytes_ += name;
    }
  }
  if (content && bytes_.size() > begin) bytes_ += '/';
  paths_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(bytes_.size() - begin)});
}

void NamedPaths::sort() {
  const auto view = [this](const Piece& piece) { return text(piece); };
  std::ranges::sort(paths_, before, view);
  const auto same = [&](const Piece& a, const Piece& b) { return view(a) == view(b); };
  paths_.erase(std::unique(paths_.begin(), paths_.end(), same), paths_.end());
}

std::string_view NamedPaths::path(std::size_t at) const {
  std::string_view path = text(at);
  if (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool NamedPaths::take_content(Range& range) const {
  if (range.empty() || !text(range.first).empty()) return false;
  ++range.first;
  return true;
}

NamedPaths::Group NamedPaths::take_group(Range& range, std::size_t prefix) const {
  Group group;
  group.name = first_name(text(range.first).substr(prefix));
  const std::size_t end = prefix + group.name.size();
  const auto in_group = [&](std::size_t at) {
    return at < range.last && first_name(text(at).substr(prefix)) == group.name;
  };
  if (in_group(range.first) && text(range.first).size() == end) {
    group.itself = true;
    ++range.first;
  }
  if (in_group(range.first) && text(range.first).size() == end + 1) {
    group.itself = true;
    group.content = true;
    ++range.first;
  }
  group.beneath.first = range.first;
  while (in_group(range.first)) ++range.first;
  group.beneath.last = range.first;
  return group;
}

bool NamedPaths::has(const Range& range, std::size_t prefix, std::string_view name) const {
  const auto begin = paths_.begin();
  const auto first = begin + static_cast<std::ptrdiff_t>(range.first);
  const auto last = begin + static_cast<std::ptrdiff_t>(range.last);
  const auto name_of = [&](const Piece& piece) { return first_name(text(piece).substr(prefix)); };
  const auto found = std::ranges::lower_bound(first, last, name, before, name_of);
  return found != last && name_of(*found) == name;
}

}  // namespace rdcp::tree
