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
#include "tree/messages/message.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// True for the messages to an agent that belong to a check.
constexpr bool is_check(MessageType type) {
  return type == MessageType::list_job || type == MessageType::list_more || type == MessageType::sum_ask;
}

// Tells an agent which entries to look at from now on, instead of those before.
struct ListJob {
  static constexpr MessageType kType = MessageType::list_job;
  std::uint32_t number = 0;  // identifies the job; its pages carry the same number
  std::string path;
  bool attributes = false;  // also list owners, xattrs and ACLs
  bool numeric_ids = false;
  io::CacheMode cache = io::CacheMode::automatic;
  bool digests = false;  // also list digests of small files
  auto fields() { return std::tie(number, path, attributes, numeric_ids, cache, digests); }
};

inline constexpr std::uint32_t kListedPagesMax = 1000;  // pages that one message may ask for

// Lets the agent send so many more Listed messages. Without this it lists nothing.
struct ListMore {
  static constexpr MessageType kType = MessageType::list_more;
  io::Within<std::uint32_t, 0, kListedPagesMax> pages;
  auto fields() { return std::tie(pages); }
};

struct ListedEntry {
  EntryType type = EntryType::file;
  std::string path;  // Entry::path; empty for what the job names, directory or not
  io::Within<std::uint32_t, 0, 07777> mode;
  std::uint32_t uid = 0, gid = 0;
  std::string user, group;  // empty if they are unknown, and with numeric_ids
  std::int64_t mtime = 0;
  io::Nanoseconds mtime_ns;
  std::uint64_t size = 0;
  std::string link_target;
  std::uint64_t device = 0;
  std::array<std::byte, 16> attributes{};  // digest of xattrs and ACLs; zeros if there are none
  // The digest of a small file that could be read. The coordinator asks for the others with SumAsk, and only
  // then hears what cannot be read.
  bool has_digest = false;
  decltype(io::Digest::bytes) digest{};
  auto fields() {
    return std::tie(type, path, mode, uid, gid, user, group, mtime, mtime_ns, size, link_target, device,
                    attributes, has_digest, digest);
  }
};

// The next entries, in the order of precedes().
struct Listed {
  static constexpr MessageType kType = MessageType::listed;
  std::uint32_t job = 0;
  std::vector<ListedEntry> entries;
  bool over = false;  // this is the last page
  auto fields() { return std::tie(job, entries, over); }
};

// Before the page that lacks it: the list has nothing at or beneath this path (a directory's names, an entry)
// because it could not be read, which has been reported. Since version 10.
struct Unlisted {
  static constexpr MessageType kType = MessageType::unlisted;
  std::uint32_t job = 0;
  std::string path;
  auto fields() { return std::tie(job, path); }
};

// A part of a file whose digests the coordinator wants.
struct SumItem {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // kToTheEnd stands for the rest of the file
  std::uint64_t unit = 0;    // bytes for each digest; 0 for one digest of all
  auto fields() { return std::tie(path, offset, length, unit); }
};
inline constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};
// An item has at most this many digests.
inline constexpr std::uint64_t kSumsMax = 64;

struct SumAsk {
  static constexpr MessageType kType = MessageType::sum_ask;
  std::uint32_t id = 0;
  std::vector<SumItem> items;
  auto fields() { return std::tie(id, items); }
};

// The error has been reported for `unreadable`.
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
  // Digests of a file's bytes, or of a symlink's target. There are fewer than asked for if the file is
  // shorter.
  std::vector<decltype(io::Digest::bytes)> digests;
  auto fields() { return std::tie(state, type, size, mtime, mtime_ns, digests); }
};

// The answers to a SumAsk, one for each item. SumAsks are answered in any order.
struct SumTold {
  static constexpr MessageType kType = MessageType::sum_told;
  std::uint32_t id = 0;
  std::vector<SumFound> found;
  auto fields() { return std::tie(id, found); }
};

// The order of a list: a directory comes before what is in it, and names in one directory are ordered by
// their bytes.
bool precedes(std::string_view path, std::string_view other);

}  // namespace rdcp::tree
