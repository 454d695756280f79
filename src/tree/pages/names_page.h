// The page of a names frame: what directories of the source contain, so that the target can tell what is
// extra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/bytes.h"
#include "io/digest.h"
#include "io/result.h"
#include "tree/guards/admitted_names.h"

namespace rdcp::tree {

// The number of names in a directory, and the sum of their digests.
struct NameSum {
  std::uint64_t count = 0;
  io::FileDigest digest;
  void add(std::string_view name);
  bool operator==(const NameSum& other) const {
    return count == other.count && digest.value() == other.digest.value();
  }
};

struct Root;

struct SummedDirectory {
  EntryPath path;
  std::uint64_t count = 0;
  io::Digest digest;
};

// Directories whose names the target compares with those it has there (--delete).
struct NamesBatch {
  std::vector<SummedDirectory> sums;
  std::vector<std::string> paths;  // path of each beneath its root
  const Root* root = nullptr;
  std::uint64_t serial = 0;
  std::size_t compared = 0;  // the first one whose sum has not been compared yet
  std::size_t asked_until = 0;
  std::vector<std::size_t> differing;  // those whose names the target still needs
  std::uint32_t parts = 1;             // number of parts of the last one's names
  std::uint32_t part = 0;
};

// The names of one directory, or one of several parts of them: those with part_of(name, parts) == part.
struct ListedNames {
  EntryPath path;
  std::uint32_t parts = 1;
  std::uint32_t part = 0;
  std::vector<std::string_view> names;  // pointing into the page
};
std::uint32_t part_of(std::string_view name, std::uint32_t parts);
inline constexpr std::uint32_t kPartsMax = 1 << 16;

// On the wire, little-endian. Sums: 0 u8, number u32, for each path (u32 and bytes), count u64, digest 16.
// Names: 1 u8, path, parts u32, part u32, then each name (u16 and bytes).
//
// Fills a slot with such a page. Not thread-safe.
class NamesWriter {
 public:
  void begin_sums(std::span<std::byte> slot);
  bool add(const SummedDirectory& directory);  // returns false if it does not fit any more
  bool begin_names(std::span<std::byte> slot, std::string_view path, std::uint32_t parts, std::uint32_t part);
  bool add(std::string_view name);
  std::size_t finish();

 private:
  std::span<std::byte> slot_;  // of begin_sums()
  io::ByteWriter to_;
  std::uint32_t sums_ = 0;
  bool is_sums_ = false;
};

// Only one of the two is filled.
struct NamesPage {
  std::vector<SummedDirectory> sums;
  ListedNames names;
};
// Reads a page from a peer. Every fault is a protocol Error, also a directory that is not admitted.
io::Result<NamesPage> read_names_page(std::span<const std::byte> page, const AdmittedNames& admitted);

}  // namespace rdcp::tree
