// The messages by which a coordinator looks at a tree without changing it: lists of what is there, in one
// order on every host, and digests of what it asks for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "io/digest.h"
#include "io/file.h"
#include "tree/entry.h"
#include "tree/message.h"

namespace rdcp::tree {

// Of the messages to an agent.
constexpr bool is_check(MessageType type) {
  return type == MessageType::list_job || type == MessageType::list_more || type == MessageType::sum_ask;
}

// What an agent is to look at, instead of what it looked at before.
struct ListJob {
  static constexpr MessageType kType = MessageType::list_job;
  std::uint32_t number = 0;  // of the job: its pages bear it, too
  std::string path;
  bool attributes = false;  // tell owner, xattrs and ACLs, too
  bool numeric_ids = false;
  io::CacheMode cache = io::CacheMode::automatic;
  bool digests = false;  // tell those of small files, too
  auto fields() { return std::tie(number, path, attributes, numeric_ids, cache, digests); }
};

inline constexpr std::uint32_t kListedPagesMax = 1000;  // that are asked for at once

// Leave for so many more Listed messages. An agent lists nothing without it.
struct ListMore {
  static constexpr MessageType kType = MessageType::list_more;
  io::Within<std::uint32_t, 0, kListedPagesMax> pages;
  auto fields() { return std::tie(pages); }
};

struct ListedEntry {
  EntryType type = EntryType::file;
  std::string path;  // Entry::path; empty: what the job names, which need not be a directory
  io::Within<std::uint32_t, 0, 07777> mode;
  std::uint32_t uid = 0, gid = 0;
  std::string user, group;  // empty where they are unknown, and with numeric_ids
  std::int64_t mtime = 0;
  io::Nanoseconds mtime_ns;
  std::uint64_t size = 0;
  std::string link_target;
  std::uint64_t device = 0;
  std::array<std::byte, 16> attributes{};  // digest of xattrs and ACLs; zeros: none
  // Of all its bytes, where it was read: else who wants it asks, and hears of what could not be read.
  bool has_digest = false;
  decltype(io::Digest::bytes) digest{};
  auto fields() {
    return std::tie(type, path, mode, uid, gid, user, group, mtime, mtime_ns, size, link_target, device,
                    attributes, has_digest, digest);
  }
};

// The next entries, each after those before it as precedes() has it.
struct Listed {
  static constexpr MessageType kType = MessageType::listed;
  std::uint32_t job = 0;
  std::vector<ListedEntry> entries;
  bool over = false;  // that was all
  auto fields() { return std::tie(job, entries, over); }
};

// A part of a file whose digests are wanted.
struct SumItem {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // kToTheEnd: all that there is
  std::uint64_t unit = 0;    // one digest for each so many bytes; 0: one for all
  auto fields() { return std::tie(path, offset, length, unit); }
};
inline constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};
// No item has more digests.
inline constexpr std::uint64_t kSumsMax = 64;

struct SumAsk {
  static constexpr MessageType kType = MessageType::sum_ask;
  std::uint32_t id = 0;
  std::vector<SumItem> items;
  auto fields() { return std::tie(id, items); }
};

// unreadable: it has been reported.
enum class SumState : std::uint8_t { found, missing, unreadable };
constexpr SumState last_of(SumState) {
  return SumState::unreadable;
}

struct SumFound {
  SumState state = SumState::found;
  EntryType type = EntryType::file;
  std::uint64_t size = 0;
  std::int64_t mtime = 0;
  io::Nanoseconds mtime_ns;
  // Of a file's bytes, or of a symlink's target. Fewer than asked for: the file is shorter.
  std::vector<decltype(io::Digest::bytes)> digests;
  auto fields() { return std::tie(state, type, size, mtime, mtime_ns, digests); }
};

// The answer to an ask, item by item. Asks are answered in any order.
struct SumTold {
  static constexpr MessageType kType = MessageType::sum_told;
  std::uint32_t id = 0;
  std::vector<SumFound> found;
  auto fields() { return std::tie(id, found); }
};

// The order of a list: a directory before what is in it, names of one directory by their bytes.
bool precedes(std::string_view path, std::string_view other);

}  // namespace rdcp::tree
