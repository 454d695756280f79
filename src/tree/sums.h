// Digests of whole files, to be kept in a list: what was copied, and what a tree is checked against later.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "io/digest.h"
#include "io/result.h"
#include "tree/entry.h"
#include "tree/message.h"

namespace rdcp::tree {

// One thing in a tree as a list has it.
struct SumLine {
  EntryType type = EntryType::file;
  std::string path;        // relative to the tree's top; empty: the top
  std::uint64_t size = 0;  // of a file
  std::int64_t mtime = 0;
  io::Nanoseconds mtime_ns;
  bool has_facts = true;   // false: nothing but path and digest is known
  io::Digest digest;       // of a file's content, a symlink's target; zeros for all else
  std::string first_name;  // of a hard link: the name that was copied before; not in a list
  bool linked = false;     // there will be hard links to it; not in a list
  auto fields() {
    return std::tie(type, path, size, mtime, mtime_ns, has_facts, digest.bytes, first_name, linked);
  }
};

// Source -> coordinator: what has arrived at the target.
struct Sums {
  static constexpr MessageType kType = MessageType::sums;
  std::vector<SumLine> lines;
  auto fields() { return std::tie(lines); }
};

// manifest: a first line "rdcp-manifest 1", then for each entry "TYPE SIZE MTIME DIGEST PATH": one of f d l p
// s c b, bytes or "-", seconds with nine decimals, 32 hexadecimal digits or "-", and to the end of the line
// the path with "\\" and "\n" for a backslash and a newline; "." is the top.
// xxhsum: what xxh128sum(1) writes and reads, files alone. A line whose name has a newline begins with a
// backslash and has the name as above, which xxh128sum does from version 0.8.2 on.
enum class SumForm : std::uint8_t { manifest, xxhsum };

inline constexpr std::string_view kManifestHead = "rdcp-manifest 1";

// With its newline; empty where the form has no line for it.
std::string text_of(const SumLine& line, SumForm form);
// A line without its newline. Errors (file) say what is wrong, and nothing of what it says; unsafe paths
// (is_safe_path) are wrong.
io::Result<SumLine> parse_sum_line(std::string_view text, SumForm form);

// "f", "d", ...
char letter_of(EntryType type);

// What a list says of an entry that is copied with this content.
SumLine line_of(const Entry& entry, std::span<const std::byte> content);

// Gathers lines of several threads into messages. Hard links get the digest of the file that they are names
// of; bounded by the number of files with several names.
class SumTeller {
 public:
  using Sink = std::function<void(const Sums&)>;
  explicit SumTeller(Sink sink) : sink_(std::move(sink)) {}
  // Paths beneath this one are told as what they are beneath it.
  void set_top(std::string top) { top_ = std::move(top); }
  void add(std::vector<SumLine> lines);
  // After the last add().
  void finish();

 private:
  void flush();

  const Sink sink_;
  std::string top_;
  std::mutex mutex_;
  Sums gathered_;
  std::size_t gathered_bytes_ = 0;
  std::map<std::string, SumLine> linked_;  // by Entry::path
};

}  // namespace rdcp::tree
