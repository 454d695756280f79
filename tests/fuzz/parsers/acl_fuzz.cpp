// ACLs as the kernel gives them and as an archive carries them: whatever bytes are taken for an ACL come out
// of format_acl() as the kernel wants them, and any ACL that a kernel may have survives an archive, names and
// all.
#include <algorithm>
#include <set>

#include "tests/fuzz/admitted.h"
#include "tests/fuzz/targets.h"
#include "tree/archive/archive.h"
#include "tree/meta/acl.h"

namespace rdcp::fuzz {
namespace {

using tree::AclLine;
using AclTag = AclLine::Tag;

void check_raw(std::string_view raw) {
  const auto lines = tree::parse_acl(raw);
  if (!lines) return;
  const std::string formatted = tree::format_acl(*lines);
  require(formatted.size() == raw.size());
  const auto again = tree::parse_acl(formatted);
  require(again.has_value() && std::ranges::is_sorted(*again, {}, &AclLine::tag));
  require(std::ranges::is_permutation(*again, *lines) && tree::format_acl(*again) == formatted);
  require(tree::is_minimal(*lines) == tree::is_minimal(*again));
}

// One that posix_acl_valid() in the kernel lets pass. An access ACL that says no more than the mode is none.
std::vector<AclLine> possible_acl(Choices& choices, bool access) {
  const auto permissions = [&] { return static_cast<std::uint8_t>(choices.below(8)); };
  std::vector<AclLine> lines{{AclTag::user_obj, permissions(), 0, ""}};
  bool named = false;
  for (const AclTag tag : {AclTag::user, AclTag::group_obj, AclTag::group}) {
    if (tag == AclTag::group_obj) {
      lines.push_back({tag, permissions(), 0, ""});
      continue;
    }
    std::set<std::uint32_t> ids;
    for (std::size_t i = choices.below(4); i > 0; --i) {
      const auto id = choices.number<std::uint32_t>();
      std::string name(choices.piece());
      std::erase(name, '\0');
      if (id == ~0u || !ids.insert(id).second) continue;
      lines.push_back({tag, permissions(), id, name});
      named = true;
    }
  }
  if (named || access || choices.flag()) lines.push_back({AclTag::mask, permissions(), 0, ""});
  lines.push_back({AclTag::other, permissions(), 0, ""});
  return lines;
}

void check_archive(Choices& choices) {
  static std::vector<std::byte> slot(256 << 10);
  tree::Entry entry;
  entry.type = tree::EntryType::directory;
  entry.path = tree::EntryPath::of_own("d");
  entry.mode = 0755;
  if (choices.flag()) entry.access_acl = possible_acl(choices, true);
  if (choices.flag()) entry.default_acl = possible_acl(choices, false);
  tree::ArchiveWriter writer;
  writer.begin(slot);
  const auto added = writer.add(entry, {});
  require(added.ok() && *added);
  const auto length = writer.finish();
  require(length.ok());
  tree::ArchiveReader reader(admitted_names(true));
  tree::Entry read;
  require(reader.open(std::span(slot).first(*length)).ok());
  const auto more = reader.next(read);
  require(more.ok() && *more);
  const auto by_tag = [](std::vector<AclLine> lines) {
    std::ranges::sort(lines, {}, [](const AclLine& line) { return std::pair(line.tag, line.id); });
    return lines;
  };
  require(by_tag(read.access_acl) == by_tag(entry.access_acl));
  require(by_tag(read.default_acl) == by_tag(entry.default_acl));
}

}  // namespace

void fuzz_acl(Bytes input) {
  check_raw(text_of(input));
  Choices choices(input);
  check_archive(choices);
}

}  // namespace rdcp::fuzz
