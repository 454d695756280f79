#include "tree/archive/archive_acl.h"

#include <archive.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <string>
#include <string_view>

namespace rdcp::tree {
namespace {

using Tag = AclLine::Tag;

constexpr std::uint32_t kNobody = ~0u;  // libarchive's -1; the kernel has no such id either

int tag_number(Tag tag) {
  constexpr int kNumbers[] = {ARCHIVE_ENTRY_ACL_USER_OBJ, ARCHIVE_ENTRY_ACL_USER, ARCHIVE_ENTRY_ACL_GROUP_OBJ,
                              ARCHIVE_ENTRY_ACL_GROUP,    ARCHIVE_ENTRY_ACL_MASK, ARCHIVE_ENTRY_ACL_OTHER};
  return kNumbers[static_cast<std::size_t>(tag)];
}

std::optional<Tag> tag_of(int number) {
  for (const Tag tag : {Tag::user_obj, Tag::user, Tag::group_obj, Tag::group, Tag::mask, Tag::other}) {
    if (tag_number(tag) == number) return tag;
  }
  return std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// ACLs in a pax archive are text, "user:NAME:rwx:ID". libarchive takes a name of digits for an id, caps ids
// at INT_MAX, and converts bytes beyond ASCII by the locale. So a name is encoded as letters, digits and
// "._-", with %XX for other bytes and for the first byte of a name of digits; a larger id follows it as
// "%@ID".
std::string encode_name(const AclLine& line) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  const bool digits_only = std::all_of(line.name.begin(), line.name.end(), is_digit);
  for (const char c : line.name) {
    const bool is_plain =
        is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
    if (is_plain && !(digits_only && encoded.empty())) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (line.id > INT_MAX) encoded += "%@" + std::to_string(line.id);
  return encoded;
}

template <class Number>
bool parse_whole(std::string_view text, int base, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

// Decodes into line.name and, if the text has it, line.id. Returns false if the text does not have that form.
bool decode_name(std::string_view text, AclLine& line) {
  // Without a name, libarchive writes the id in its place.
  if (std::all_of(text.begin(), text.end(), is_digit)) return true;
  while (!text.empty()) {
    if (text.front() != '%') {
      line.name += text.front();
      text.remove_prefix(1);
    } else if (text.substr(0, 2) == "%@") {
      return parse_whole(text.substr(2), 10, line.id) && line.id > INT_MAX;
    } else {
      unsigned char byte = 0;
      if (text.size() < 3 || !parse_whole(text.substr(1, 2), 16, byte) || byte == 0) return false;
      line.name += static_cast<char>(byte);
      text.remove_prefix(3);
    }
  }
  return true;
}

}  // namespace

void put_acl(archive_entry* entry, int type, const std::vector<AclLine>& lines) {
  for (const AclLine& line : lines) {
    const bool is_named = line.tag == Tag::user || line.tag == Tag::group;
    const std::string name = is_named ? encode_name(line) : std::string();
    const int id = is_named && line.id <= INT_MAX ? static_cast<int>(line.id) : -1;
    archive_entry_acl_add_entry(entry, type, line.permissions, tag_number(line.tag), id,
                                name.empty() ? nullptr : name.c_str());
  }
}

std::optional<std::vector<AclLine>> take_acl(archive_entry* entry, int type) {
  std::vector<AclLine> lines;
  int entry_type, permissions, tag_number, id;
  const char* name;
  archive_entry_acl_reset(entry, type);
  while (archive_entry_acl_next(entry, type, &entry_type, &permissions, &tag_number, &id, &name) ==
         ARCHIVE_OK) {
    const std::optional<Tag> tag = tag_of(tag_number);
    if (!tag || permissions < 0 || permissions > 7) return std::nullopt;
    AclLine& line = lines.emplace_back();
    line.tag = *tag;
    line.permissions = static_cast<std::uint8_t>(permissions);
    if (*tag != Tag::user && *tag != Tag::group) continue;
    line.id = static_cast<std::uint32_t>(id);
    if (name != nullptr && !decode_name(name, line)) return std::nullopt;
    if (line.id == kNobody) return std::nullopt;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const AclLine& a, const AclLine& b) { return a.tag < b.tag; });
  return lines;
}

std::size_t acl_line_bound(const AclLine& line) {
  constexpr std::size_t kAllButName = 64;  // "default:group:", "%@ID", ":rwx:", "ID", the comma
  return kAllButName + 3 * line.name.size();
}

}  // namespace rdcp::tree
