#include "tree/meta/acl.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::tree {
namespace {

using Tag = AclLine::Tag;
constexpr std::uint32_t kUnknownId = 3'999'999'001;

std::vector<AclLine> full_acl() {
  return {{Tag::user_obj, 6, 0, ""},  {Tag::user, 7, 1000, ""}, {Tag::user, 0, kUnknownId, ""},
          {Tag::group_obj, 4, 0, ""}, {Tag::group, 5, 50, ""},  {Tag::mask, 7, 0, ""},
          {Tag::other, 0, 0, ""}};
}

TEST(Acl, ComesBackFromItsRawForm) {
  EXPECT_EQ(parse_acl(format_acl(full_acl())), full_acl());
}

TEST(Acl, RawFormIsLittleEndianWithVersionTwo) {
  const std::string raw = format_acl({{Tag::user, 5, 0x01020304, ""}});
  EXPECT_EQ(raw, std::string("\2\0\0\0\2\0\5\0\4\3\2\1", 12));
}

TEST(Acl, IsFormattedInTheKernelsOrder) {
  auto shuffled = full_acl();
  std::swap(shuffled.front(), shuffled.back());
  std::swap(shuffled[3], shuffled[5]);
  EXPECT_EQ(format_acl(shuffled), format_acl(full_acl()));
}

TEST(Acl, RefusesForeignVersions) {
  std::string raw = format_acl(full_acl());
  raw[0] = 3;
  EXPECT_EQ(parse_acl(raw), std::nullopt);
}

TEST(Acl, RefusesBrokenLengths) {
  const std::string raw = format_acl(full_acl());
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, raw.size() - 1}) {
    EXPECT_EQ(parse_acl(raw.substr(0, length)), std::nullopt) << length;
  }
}

TEST(Acl, RefusesUnknownTagsAndPermissions) {
  EXPECT_EQ(parse_acl(std::string("\2\0\0\0\3\0\5\0\0\0\0\0", 12)), std::nullopt);
  EXPECT_EQ(parse_acl(std::string("\2\0\0\0\1\0\x08\0\0\0\0\0", 12)), std::nullopt);
}

TEST(Acl, ThreeModeLinesAreMinimal) {
  EXPECT_TRUE(is_minimal({{Tag::user_obj, 6, 0, ""}, {Tag::group_obj, 4, 0, ""}, {Tag::other, 4, 0, ""}}));
  EXPECT_FALSE(is_minimal(full_acl()));
}

TEST(Acl, NamesOfKnownIdsAreFilledIn) {
  NameTable names;
  std::vector<AclLine> lines = {
      {Tag::user, 7, 0, ""}, {Tag::group, 7, 0, ""}, {Tag::user, 7, kUnknownId, ""}};
  look_up_names(lines, names);
  EXPECT_EQ(lines[0].name, "root");
  EXPECT_EQ(lines[1].name, "root");
  EXPECT_EQ(lines[2].name, "");
}

TEST(Acl, KnownNameDecidesTheId) {
  NameTable names;
  std::vector<AclLine> lines = {{Tag::user, 7, 77, "root"}, {Tag::group, 7, 77, "root"}};
  map_ids(lines, names);
  EXPECT_EQ(lines[0].id, 0u);
  EXPECT_EQ(lines[1].id, 0u);
}

TEST(Acl, UnknownNameKeepsTheNumber) {
  NameTable names;
  std::vector<AclLine> lines = {{Tag::user, 7, 77, "rdcp-nobody-has-this-name"}, {Tag::group, 7, 78, ""}};
  map_ids(lines, names);
  EXPECT_EQ(lines[0].id, 77u);
  EXPECT_EQ(lines[1].id, 78u);
}

}  // namespace
}  // namespace rdcp::tree
