#include "tree/meta/alteration.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

Entry entry_of(EntryType type, std::uint32_t mode) {
  Entry entry;
  entry.type = type;
  entry.mode = mode;
  return entry;
}

std::uint32_t altered(const Alteration& alteration, EntryType type, std::uint32_t mode) {
  Entry entry = entry_of(type, mode);
  alteration.alter(entry);
  return entry.mode;
}

Alteration changing(std::vector<ModeChange> modes) {
  return {.modes = std::move(modes), .user = {}, .group = {}};
}

TEST(Alteration, ChangesKindsApart) {
  const Alteration alteration = changing({{.kind = ModeChange::Kind::directories, .keeps = 0, .sets = 0755},
                                          {.kind = ModeChange::Kind::others, .keeps = 0, .sets = 0644}});
  EXPECT_EQ(altered(alteration, EntryType::directory, 02700), 0755u);
  EXPECT_EQ(altered(alteration, EntryType::file, 04711), 0644u);
  EXPECT_EQ(altered(alteration, EntryType::fifo, 0600), 0644u);
  EXPECT_EQ(altered(alteration, EntryType::symlink, 0777), 0777u);
}

TEST(Alteration, SetsExecuteBitsOnlyWhereOneWasBefore) {
  const Alteration alteration = changing({{.keeps = 07666}, {.sets = 0111, .guards_x = true}});
  EXPECT_EQ(altered(alteration, EntryType::file, 0744), 0755u) << "what counts is the mode at the source";
  EXPECT_EQ(altered(alteration, EntryType::file, 0644), 0644u);
  EXPECT_EQ(altered(alteration, EntryType::directory, 0600), 0711u);
}

TEST(Alteration, CopiesBits) {
  using From = ModeChange::From;
  const Alteration added = changing({{.keeps = 07700, .copies = From::user, .copies_to = 0077}});
  EXPECT_EQ(altered(added, EntryType::file, 0640), 0666u);
  const Alteration taken = changing({{.copies = From::other, .copies_to = 0070, .copies_to_clear = true}});
  EXPECT_EQ(altered(taken, EntryType::file, 0775), 0725u);
}

TEST(Alteration, AnAclFollowsTheMode) {
  using Tag = AclLine::Tag;
  const Alteration alteration = changing({{.keeps = 0, .sets = 0640}});
  Entry entry = entry_of(EntryType::file, 0775);
  entry.access_acl = {{Tag::user_obj, 7, 0, ""},
                      {Tag::user, 7, 5, ""},
                      {Tag::group_obj, 5, 0, ""},
                      {Tag::mask, 7, 0, ""},
                      {Tag::other, 5, 0, ""}};
  alteration.alter(entry);
  alteration.alter_acl(entry);
  std::vector<unsigned> permissions;
  for (const AclLine& line : entry.access_acl) permissions.push_back(line.permissions);
  EXPECT_EQ(permissions, (std::vector<unsigned>{6, 7, 5, 4, 0}));
}

TEST(Alteration, GivesUserAndGroup) {
  Entry entry = entry_of(EntryType::symlink, 0777);
  entry.uid = 5, entry.gid = 6, entry.user = "five", entry.group = "six";
  const Alteration group{.modes = {}, .user = {}, .group = {.given = true, .name = "adm", .number = 65534}};
  EXPECT_TRUE(group.any());
  EXPECT_TRUE(group.names_somebody());
  group.alter(entry);
  EXPECT_EQ(entry.user, "five");
  EXPECT_EQ(entry.group, "adm");
  const Alteration user{.modes = {}, .user = {.given = true, .name = "", .number = 0}, .group = {}};
  EXPECT_TRUE(user.any());
  EXPECT_FALSE(user.names_somebody());
  user.alter(entry);
  EXPECT_EQ(entry.uid, 0u);
  EXPECT_EQ(entry.user, "") << "the number counts, not the name that the source knows";
}

TEST(Alteration, NothingIsChangedUnasked) {
  Entry entry = entry_of(EntryType::file, 04751);
  entry.access_acl = {{AclLine::Tag::other, 5, 0, ""}};
  const Entry before = entry;
  const Alteration none;
  EXPECT_FALSE(none.any());
  none.alter(entry);
  none.alter_acl(entry);
  EXPECT_EQ(entry, before);
}

}  // namespace
}  // namespace rdcp::tree
