#include "cli/options/alterations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rdcp::cli {
namespace {

using ::testing::HasSubstr;
using tree::Alteration;
using tree::Entry;
using tree::EntryType;

// The mode that a file or directory with `mode` gets.
std::uint32_t altered(const std::string& words, std::uint32_t mode, EntryType type = EntryType::file,
                      std::uint32_t umask = 022) {
  Entry entry;
  entry.type = type;
  entry.mode = mode;
  Alteration alteration;
  alteration.modes = parse_mode_changes(words, umask).value();
  alteration.alter(entry);
  return entry.mode;
}

TEST(ModeChanges, AreThoseOfChmod) {
  EXPECT_EQ(altered("644", 0751), 0644u);
  EXPECT_EQ(altered("4755", 0600), 04755u);
  EXPECT_EQ(altered("go-rwx", 0755), 0700u);
  EXPECT_EQ(altered("u+s,a+t", 0644), 05644u);
  EXPECT_EQ(altered("g=u", 0640), 0660u);
  EXPECT_EQ(altered("o=", 0647), 0640u);
  EXPECT_EQ(altered("a=rX", 0700), 0555u);
  EXPECT_EQ(altered("a=rX", 0600), 0444u);
}

// rsync 3.2.7 gives the same.
TEST(ModeChanges, LeaveNoSpecialBitBesideCopiedPermissions) {
  EXPECT_EQ(altered("u=g", 04755), 0555u);
  EXPECT_EQ(altered("u=g", 06777), 02777u);
  EXPECT_EQ(altered("g=u", 06755), 04775u);
  EXPECT_EQ(altered("go=u", 07755), 04777u);
  EXPECT_EQ(altered("o=g", 01755), 0755u);
  EXPECT_EQ(altered("=u", 07755), 0755u);
  EXPECT_EQ(altered("u+g", 04755), 04755u);
}

TEST(ModeChanges, SetTheSetIdBitsOfThoseWhoAreNamed) {
  EXPECT_EQ(altered("+s", 0640), 04640u);
  EXPECT_EQ(altered("a+s", 0640), 06640u);
  EXPECT_EQ(altered("go+s", 0640), 02640u);
  EXPECT_EQ(altered("a=rs", 0640), 06444u);
  EXPECT_EQ(altered("a-s", 06755), 0755u);
}

TEST(ModeChanges, LeaveBitsOfTheUmaskAloneWhereNobodyIsNamed) {
  EXPECT_EQ(altered("+w", 0444), 0644u);
  EXPECT_EQ(altered("a+w", 0444), 0666u);
  EXPECT_EQ(altered("-w", 0666), 0466u);
  EXPECT_EQ(altered("=r", 0777, EntryType::file, 077), 0400u);
}

TEST(ModeChanges, AreForDirectoriesOrForAllElse) {
  EXPECT_EQ(altered("D755,F644", 0700), 0644u);
  EXPECT_EQ(altered("D755,F644", 0700, EntryType::directory), 0755u);
  EXPECT_EQ(altered("Dg+s", 0755, EntryType::directory), 02755u);
}

TEST(ModeChanges, ThatMakeNoSenseAreNamed) {
  for (const char* words : {"", "8", "77777", "u", "u755", "u+q", "x+r", "g=ux", "DF+r", "u=rg", "D"}) {
    const auto parsed = parse_mode_changes(std::string("u+r,") + words, 0);
    ASSERT_FALSE(parsed) << words;
    EXPECT_EQ(parsed.error().kind, io::ErrorKind::usage);
    EXPECT_THAT(parsed.error().message(), HasSubstr(words));
  }
  std::string many = "u+r";
  for (int i = 0; i < 100; ++i) many += ",u+r";
  EXPECT_THAT(parse_mode_changes(many, 0).error().message(), HasSubstr("too many"));
}

}  // namespace
}  // namespace rdcp::cli
