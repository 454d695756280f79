// The disk of the file system that lies does lose, reorder, fold and round as it is told to: a liar that is
// honest would let every test pass. These need no FUSE.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>

#include "tests/lying/lying_disk.h"
#include "tests/lying/power_loss.h"

namespace rdcp::lying {
namespace {

constexpr std::uint64_t kSeeds = 400;

class LyingDiskTest : public testing::Test {
 protected:
  Inumber make(const std::string& name, mode_t type = S_IFREG, Inumber parent = kRoot) {
    Attributes attributes;
    attributes.mode = type | 0755;
    Inumber made = 0;
    EXPECT_EQ(disk.make({parent, name}, attributes, "", made), 0) << name;
    return made;
  }
  Inumber write(const std::string& name, const std::string& bytes) {
    const Inumber file = make(name);
    const Handle handle = disk.open(file, O_RDWR);
    EXPECT_EQ(disk.write(handle, bytes, 0), 0);
    disk.release(handle);
    return file;
  }
  void flush(Inumber file) {
    const Handle handle = disk.open(file, O_RDWR);
    EXPECT_EQ(disk.sync(handle, false), 0);
    disk.release(handle);
  }
  // What many seeds make of the disk as it is now, by what `look` sees in each.
  template <class Look>
  std::set<std::string> seen(Look look) {
    std::set<std::string> all;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) all.insert(look(PowerLoss(seed).after(disk.disk())));
    return all;
  }
  std::set<std::string> contents_seen(const std::string& name) {
    return seen([&](const Disk& left) { return content(left, name); });
  }
  static std::string content(const Disk& left, const std::string& name) {
    const Inumber file = left.look_up(kRoot, name);
    return file == 0 ? "missing" : left.find(file)->now.content.read(0, 1 << 20);
  }
  static std::string names(const Disk& left) {
    std::string all;
    for (const auto& [name, number] : left.find(kRoot)->now.names) all += name + " ";
    return all;
  }

  LyingDisk disk{Lies{}};
};

using PowerLossTest = LyingDiskTest;

TEST_F(PowerLossTest, WhatWasFlushedIsThere) {
  flush(write("a", "content"));
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  EXPECT_THAT(contents_seen("a"), testing::ElementsAre("content"));
}

TEST_F(PowerLossTest, AFlushOfTheFileIsNoneOfItsName) {
  flush(write("a", "content"));
  EXPECT_THAT(contents_seen("a"), testing::ElementsAre("content", "missing"));
}

TEST_F(PowerLossTest, ANameMayBeThereBeforeSizeAndContent) {
  write("a", "content");
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  EXPECT_THAT(contents_seen("a"), testing::UnorderedElementsAre("", "content", std::string(7, '\0')));
}

TEST_F(PowerLossTest, AnyBlockMayBeLostAndNotOnlyTheLast) {
  const std::string a(kBlockBytes, 'a');
  const std::string b(kBlockBytes, 'b');
  const std::string lost(kBlockBytes, '\0');
  write("file", a + b);
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  EXPECT_THAT(contents_seen("file"),
              testing::IsSupersetOf({a + b, lost + b, a + lost, lost + lost, std::string()}));
}

TEST_F(PowerLossTest, NamesComeThroughInAnyOrder) {
  for (const char* name : {"a", "b"}) make(name);
  EXPECT_THAT(seen([](const Disk& left) { return names(left); }),
              testing::UnorderedElementsAre("", "a ", "b ", "a b "));
}

TEST_F(PowerLossTest, WhereAJournalKeepsTheOrderTheSecondNameIsNotThereAlone) {
  for (const char* name : {"b", "a"}) make(name);
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    all.insert(names(PowerLoss(seed, Survival::ordered).after(disk.disk())));
  }
  EXPECT_THAT(all, testing::UnorderedElementsAre("", "b ", "a b "));
}

TEST_F(PowerLossTest, ARenameIsWholeOrNotThereAndMayComeBeforeTheData) {
  flush(write("old", "old"));
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  write("new", "new");
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  ASSERT_EQ(disk.rename({kRoot, "new"}, {kRoot, "old"}, 0), 0);
  const auto all = seen([](const Disk& left) { return names(left) + content(left, "old"); });
  EXPECT_THAT(all, testing::IsSupersetOf({std::string("new old old"), std::string("old new"),
                                          std::string("old "), "old " + std::string(3, '\0')}));
  EXPECT_THAT(all, testing::Each(testing::AnyOf(testing::StartsWith("old "), testing::Eq("new old old"))));
}

TEST_F(PowerLossTest, ARemovalMayBeUndone) {
  flush(write("a", "content"));
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  ASSERT_EQ(disk.unlink({kRoot, "a"}), 0);
  EXPECT_THAT(contents_seen("a"), testing::ElementsAre("content", "missing"));
}

TEST_F(PowerLossTest, WhatWasTruncatedMayComeBackButNothingBeyondTheEnd) {
  flush(write("a", "content"));
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  const Inumber file = disk.disk().look_up(kRoot, "a");
  ASSERT_EQ(disk.change(file, {.size = 3}), 0);
  EXPECT_THAT(contents_seen("a"),
              testing::UnorderedElementsAre("content", "con", std::string("con\0\0\0\0", 7)));
}

TEST_F(PowerLossTest, TimesMayBeThereWithoutTheData) {
  const Inumber file = write("a", "content");
  ASSERT_EQ(disk.change(file, {.mtime = timespec{1000, 1}}), 0);
  ASSERT_EQ(disk.sync_directory(kRoot), 0);
  EXPECT_THAT(
      seen([](const Disk& left) {
        const Inode& inode = *left.find(left.look_up(kRoot, "a"));
        return std::to_string(inode.now.attributes.mtime.tv_sec == 1000) + content(left, "a");
      }),
      testing::IsSupersetOf({std::string("1content"), std::string("0content"), "1" + std::string(7, '\0')}));
}

TEST_F(PowerLossTest, TheSameSeedLeavesTheSame) {
  for (const char* name : {"a", "b", "c"}) write(name, std::string(3 * kBlockBytes, *name));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Disk one = PowerLoss(seed).after(disk.disk());
    const Disk other = PowerLoss(seed).after(disk.disk());
    EXPECT_EQ(names(one), names(other));
    EXPECT_EQ(content(one, "b"), content(other, "b"));
  }
}

TEST_F(LyingDiskTest, ARecordingGivesTheDiskAsItWasAtEachMoment) {
  make("before");
  disk.record();
  write("a", "1");
  const std::size_t count = disk.recorded();
  write("b", "2");
  ASSERT_EQ(disk.unlink({kRoot, "a"}), 0);
  EXPECT_EQ(names(disk.at(0)), "before ");
  EXPECT_EQ(names(disk.at(count)), "a before ");
  EXPECT_EQ(content(disk.at(count), "a"), "1");
  EXPECT_EQ(names(disk.at(disk.recorded())), "b before ");
  EXPECT_EQ(disk.recorded_until_removal("a"), disk.recorded() - 1);
}

TEST_F(LyingDiskTest, CloseTellsOnceOfBytesThatAreMissing) {
  ASSERT_TRUE(disk.lies().take("close=ENOSPC:4"));
  const Handle handle = disk.open(make("a"), O_RDWR);
  EXPECT_EQ(disk.write(handle, "content", 0), 0);
  EXPECT_EQ(content(disk.disk(), "a"), std::string("cont\0\0\0", 7));
  EXPECT_EQ(disk.flush(handle), ENOSPC);
  EXPECT_EQ(disk.flush(handle), 0);
}

TEST_F(LyingDiskTest, AHandleIsStaleNowAndThenOrAfterARestart) {
  ASSERT_TRUE(disk.lies().take("stale=3:2"));
  const Handle handle = disk.open(make("a"), O_RDWR);
  std::vector<int> codes;
  for (int i = 0; i < 8; ++i) codes.push_back(disk.use(handle));
  EXPECT_THAT(codes, testing::ElementsAre(0, 0, 0, 0, ESTALE, 0, 0, ESTALE));
  ASSERT_TRUE(disk.lies().take("honest"));
  EXPECT_EQ(disk.use(handle), 0);
  disk.restart();
  EXPECT_EQ(disk.use(handle), ESTALE);
  EXPECT_EQ(disk.use(disk.open(disk.disk().look_up(kRoot, "a"), O_RDWR)), 0);
}

TEST_F(LyingDiskTest, FoldedNamesAreOneAndTheFirstSpellingStays) {
  ASSERT_TRUE(disk.lies().take("fold"));
  const Inumber first = make("ReadMe");
  Inumber found = 0;
  EXPECT_EQ(disk.look_up({kRoot, "README"}, found), 0);
  EXPECT_EQ(found, first);
  Inumber second = 0;
  EXPECT_EQ(disk.make({kRoot, "readme"}, {}, "", second), EEXIST);
  make("other");
  EXPECT_EQ(disk.rename({kRoot, "other"}, {kRoot, "README"}, 0), 0);
  EXPECT_EQ(names(disk.disk()), "ReadMe ");
  EXPECT_EQ(disk.rename({kRoot, "README"}, {kRoot, "readme"}, 0), 0);
  EXPECT_EQ(names(disk.disk()), "readme ");
}

TEST_F(LyingDiskTest, TimesAreRoundedDownToTwoSeconds) {
  ASSERT_TRUE(disk.lies().take("two-seconds"));
  const Inumber file = make("a");
  for (const auto& [given, kept] : {std::pair{7, 6}, {8, 8}, {-1, -2}}) {
    ASSERT_EQ(disk.change(file, {.mtime = timespec{given, 999}}), 0);
    struct stat status {};
    ASSERT_EQ(disk.status(file, status), 0);
    EXPECT_EQ(status.st_mtim.tv_sec, kept);
    EXPECT_EQ(status.st_mtim.tv_nsec, 0);
    EXPECT_EQ(status.st_ctim.tv_sec % 2, 0);
  }
}

TEST_F(LyingDiskTest, WhatIsLackingSaysSo) {
  for (const char* lie : {"xattrs=ENOTSUP", "tmpfile=ENOTSUP", "flock=ENOLCK"}) {
    ASSERT_TRUE(disk.lies().take(lie));
  }
  const Inumber file = make("a");
  std::string text;
  EXPECT_EQ(disk.set_xattr(file, "user.x", "1", 0), ENOTSUP);
  EXPECT_EQ(disk.list_xattrs(file, text), ENOTSUP);
  Inumber made = 0;
  EXPECT_EQ(disk.make({kRoot, ""}, {}, "", made), ENOTSUP);
  EXPECT_EQ(disk.lies().flock, ENOLCK);
  for (const char* word : {"fold=1", "close=EIO", "stale=x:1", "flock=EWHAT", "", "lie"}) {
    EXPECT_FALSE(disk.lies().take(word)) << word;
  }
}

TEST_F(LyingDiskTest, HolesAreHoles) {
  const Handle handle = disk.open(make("a"), O_RDWR);
  ASSERT_EQ(disk.write(handle, "x", 3 * kBlockBytes), 0);
  std::uint64_t found = 0;
  EXPECT_EQ(disk.seek(handle, 0, SEEK_DATA, found), 0);
  EXPECT_EQ(found, 3 * kBlockBytes);
  EXPECT_EQ(disk.seek(handle, 0, SEEK_HOLE, found), 0);
  EXPECT_EQ(found, 0U);
  EXPECT_EQ(disk.allocate(handle, 0, 0, kBlockBytes), 0);
  EXPECT_EQ(disk.seek(handle, 0, SEEK_HOLE, found), 0);
  EXPECT_EQ(found, kBlockBytes);
}

}  // namespace
}  // namespace rdcp::lying
