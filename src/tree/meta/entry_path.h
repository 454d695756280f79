// The path of an entry, as a type that bytes from a peer cannot become by themselves.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>

namespace rdcp::tree {

class EntryPath;

// True if `path` has the form of an EntryPath.
bool is_safe_path(std::string_view path);

// Splits "a/b" into "a" and "b", and "b" into "" and "b".
struct SplitPath {
  std::string_view parent;
  std::string_view name;
};
SplitPath split_path(std::string_view path);

// Refers to an EntryPath, or to that of one of its directories. The path must outlive it.
class EntryPathView {
 public:
  EntryPathView(const EntryPath& path);  // NOLINT(google-explicit-constructor): it is what a function takes
  // Returns the directory that the entry is in.
  EntryPathView parent() const { return EntryPathView(split_path(text_).parent); }
  // Returns the last component.
  std::string_view name() const { return split_path(text_).name; }
  std::string_view text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  explicit EntryPathView(std::string_view text) : text_(text) {}
  std::string_view text_;
};

// A path relative to the root of the copy: components separated by single slashes, without a leading slash,
// "." or "..", of any bytes but NUL. The root itself has an empty path.
//
// What a target opens, makes, replaces or removes beneath its root takes this type or a view of it. Bytes
// from a peer become one in AdmittedNames::admit() alone; whoever holds one need not check it again.
class EntryPath {
 public:
  EntryPath() = default;
  // Makes the path of what this host has listed by itself, or what its user has named. A style test keeps
  // this out of the rooms that handle what a peer says.
  static EntryPath of_own(std::string path) { return EntryPath(std::move(path)); }
  // Makes the path of a name that this host has listed in the directory.
  static EntryPath beneath(EntryPathView directory, std::string_view name);

  const std::string& text() const { return text_; }
  operator std::string_view() const { return text_; }  // NOLINT(google-explicit-constructor): reading is free
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }
  void clear() { text_.clear(); }
  bool operator==(const EntryPath&) const = default;
  auto operator<=>(const EntryPath&) const = default;
  bool operator==(std::string_view other) const { return text_ == other; }

 private:
  friend class AdmittedNames;
  explicit EntryPath(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

inline EntryPathView::EntryPathView(const EntryPath& path) : text_(path.text()) {}

}  // namespace rdcp::tree
