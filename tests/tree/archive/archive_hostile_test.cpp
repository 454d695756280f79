// Archive chunks that no writer of ours made.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>

#include "tests/tree/archive/archive_fixture.h"

namespace rdcp::tree {
namespace {

using testing::HasSubstr;
using Tag = AclLine::Tag;

// The chunk with `from` replaced by as many bytes of `to` everywhere, and the checksums of its tar headers
// mended.
std::vector<std::byte> forge(std::span<const std::byte> chunk, std::string_view from, std::string_view to) {
  EXPECT_EQ(from.size(), to.size());
  std::string text(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  int places = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + 1), ++places) {
    text.replace(at, to.size(), to);
  }
  EXPECT_GT(places, 0) << from;
  for (std::size_t block = 0; block + 512 <= text.size(); block += 512) {
    if (text.compare(block + 257, 5, "ustar") != 0) continue;
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(block) + 148, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(text[block + i]);
    std::snprintf(text.data() + block + 148, 7, "%06o", sum);
  }
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

// Forgeries of one good archive; each must be a protocol error.
class ArchiveForged : public Archive {
 protected:
  void expect_refused(std::string_view from, std::string_view to, std::string_view detail) {
    const auto chunk = forge(finish(), from, to);
    const auto all = unpack(chunk);
    ASSERT_FALSE(all.ok());
    EXPECT_EQ(all.error().kind, io::ErrorKind::protocol);
    EXPECT_THAT(all.error().detail, HasSubstr(std::string(detail)));
  }
};

TEST_F(ArchiveForged, ParentComponentIsRefused) {
  add(file_entry("aa/bb/cc", 0));
  expect_refused("aa/bb/cc", "aa/../cc", "unsafe path");
}

TEST_F(ArchiveForged, AbsolutePathIsRefused) {
  add(file_entry("xetc/passwd", 0));
  expect_refused("xetc/passwd", "/etc/passwd", "unsafe path");
}

TEST_F(ArchiveForged, EmptyComponentIsRefused) {
  add(file_entry("aa/b/c", 0));
  expect_refused("aa/b/c", "aa//bc", "unsafe path");
}

TEST_F(ArchiveForged, TwoSlashesBehindADirectoryAreRefused) {
  add(entry_of(EntryType::directory, "dirx"));
  expect_refused("dirx/", "dir//", "unsafe path");
}

TEST_F(ArchiveForged, EmptyPathIsRefused) {
  add(file_entry("solitary", 0));
  expect_refused("solitary", std::string_view("\0\0\0\0\0\0\0\0", 8), "no path");
}

TEST_F(ArchiveForged, HardLinkOutOfTheTreeIsRefused) {
  Entry entry = entry_of(EntryType::hard_link, "link");
  entry.first_name = own("xx/target");
  add(entry);
  expect_refused("xx/target", "../target", "unsafe hard link");
}

TEST_F(ArchiveForged, SizeBeyondTheChunkIsRefused) {
  add(file_entry("f", 01234567), std::string(01234567, 'x'));
  expect_refused("00001234567", "77777777777", "size beyond the chunk");
}

TEST_F(ArchiveForged, NegativeSizeIsRefused) {
  add(file_entry("f", 012345), std::string(012345, 'x'));
  expect_refused(std::string_view("00000012345\0", 12), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                 "");
}

TEST_F(ArchiveForged, ExtentBeyondTheSizeIsRefused) {
  Entry entry = file_entry("f", 50'000);
  entry.data = {{40'960, 4096}};
  add(entry, std::string(50'000, 'x'));
  expect_refused("realsize=50000", "realsize=45000", "");
}

TEST_F(ArchiveForged, OwnerThatChownWouldIgnoreIsRefused) {
  Entry entry = file_entry("f", 0);
  entry.uid = 4294967294;
  add(entry);
  expect_refused("uid=4294967294", "uid=4294967295", "impossible owner");
}

TEST_F(ArchiveForged, OwnerBeyond32BitsIsRefused) {
  Entry entry = file_entry("f", 0);
  entry.gid = 4294967294;
  add(entry);
  expect_refused("gid=4294967294", "gid=4294967296", "impossible owner");
}

TEST_F(ArchiveForged, ForeignAclIsRefused) {
  Entry entry = file_entry("f", 0);
  entry.access_acl = {{Tag::user_obj, 7, 0, ""},
                      {Tag::user, 5, 0xfffffffe, "x"},
                      {Tag::group_obj, 1, 0, ""},
                      {Tag::mask, 7, 0, ""},
                      {Tag::other, 5, 0, ""}};
  add(entry);
  expect_refused("x%@4294967294", "x%@4294967295", "unknown kind of ACL");
}

TEST_F(ArchiveForged, BrokenHeaderIsRefused) {
  add(file_entry("first", 0));
  add(file_entry("second", 0));
  auto chunk = finish();
  std::vector<std::byte> broken(chunk.begin(), chunk.end());
  broken[broken.size() - 1024 - 512] ^= std::byte{1};
  const auto all = unpack(broken);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().kind, io::ErrorKind::protocol);
}

TEST_F(Archive, CutAnywhereItIsRefused) {
  add(file_entry("a", 700), std::string(700, 'a'));
  add(file_entry("b", 700), std::string(700, 'b'));
  const auto chunk = finish();
  for (std::size_t length = 0; length < chunk.size(); length += 256) {
    const auto all = unpack(chunk.first(length));
    ASSERT_FALSE(all.ok()) << length;
    EXPECT_EQ(all.error().kind, io::ErrorKind::protocol);
  }
}

TEST_F(Archive, EntriesBehindAnEarlyEndAreRefused) {
  add(file_entry("a", 0));
  auto first = finish();
  std::vector<std::byte> twice(first.begin(), first.end());
  twice.insert(twice.end(), first.begin(), first.end());
  EXPECT_FALSE(unpack(twice).ok());
}

}  // namespace
}  // namespace rdcp::tree
