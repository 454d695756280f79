#include "tree/meta/acl.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include <algorithm>
#include <cstring>

namespace rdcp::tree {
namespace {

using Tag = AclLine::Tag;

struct TagNumber {
  Tag tag;
  int number;
};
constexpr TagNumber kTagNumbers[] = {{Tag::user_obj, ACL_USER_OBJ},   {Tag::user, ACL_USER},
                                     {Tag::group_obj, ACL_GROUP_OBJ}, {Tag::group, ACL_GROUP},
                                     {Tag::mask, ACL_MASK},           {Tag::other, ACL_OTHER}};

std::optional<Tag> tag_of(int number) {
  for (const TagNumber& pair : kTagNumbers) {
    if (pair.number == number) return pair.tag;
  }
  return std::nullopt;
}

int number_of(Tag tag) {
  return kTagNumbers[static_cast<std::size_t>(tag)].number;
}

bool has_id(Tag tag) {
  return tag == Tag::user || tag == Tag::group;
}

}  // namespace

std::optional<std::vector<AclLine>> parse_acl(std::string_view raw) {
  posix_acl_xattr_header header;
  posix_acl_xattr_entry entry;
  if (raw.size() < sizeof header || (raw.size() - sizeof header) % sizeof entry != 0) return std::nullopt;
  std::memcpy(&header, raw.data(), sizeof header);
  if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION) return std::nullopt;

  std::vector<AclLine> lines;
  for (std::size_t at = sizeof header; at < raw.size(); at += sizeof entry) {
    std::memcpy(&entry, raw.data() + at, sizeof entry);
    const std::optional<Tag> tag = tag_of(le16toh(entry.e_tag));
    if (!tag || le16toh(entry.e_perm) > 7) return std::nullopt;
    AclLine& line = lines.emplace_back();
    line.tag = *tag;
    line.permissions = static_cast<std::uint8_t>(le16toh(entry.e_perm));
    if (has_id(*tag)) line.id = le32toh(entry.e_id);
  }
  return lines;
}

std::string format_acl(std::vector<AclLine> lines) {
  // Tag lists its enumerators in the kernel's order.
  std::stable_sort(lines.begin(), lines.end(),
                   [](const AclLine& a, const AclLine& b) { return a.tag < b.tag; });
  const posix_acl_xattr_header header{htole32(POSIX_ACL_XATTR_VERSION)};
  std::string raw(reinterpret_cast<const char*>(&header), sizeof header);
  for (const AclLine& line : lines) {
    const posix_acl_xattr_entry entry{
        htole16(static_cast<std::uint16_t>(number_of(line.tag))), htole16(line.permissions),
        htole32(has_id(line.tag) ? line.id : static_cast<std::uint32_t>(ACL_UNDEFINED_ID))};
    raw.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return raw;
}

bool is_minimal(const std::vector<AclLine>& lines) {
  return std::none_of(lines.begin(), lines.end(),
                      [](const AclLine& line) { return has_id(line.tag) || line.tag == Tag::mask; });
}

void look_up_names(std::vector<AclLine>& lines, NameTable& names) {
  for (AclLine& line : lines) {
    if (line.tag == Tag::user) line.name = names.user_name(line.id);
    if (line.tag == Tag::group) line.name = names.group_name(line.id);
  }
}

void map_ids(std::vector<AclLine>& lines, NameTable& names) {
  for (AclLine& line : lines) {
    if (line.tag == Tag::user) line.id = names.user_id(line.name).value_or(line.id);
    if (line.tag == Tag::group) line.id = names.group_id(line.name).value_or(line.id);
  }
}

}  // namespace rdcp::tree
