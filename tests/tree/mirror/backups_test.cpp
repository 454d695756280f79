#include "tree/mirror/backups.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <thread>
#include <tuple>

#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

// Until the clock that ctimes are taken from shows another time.
void wait_for_a_later_ctime(const fs::path& file) {
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  timespec now{};
  do {
    ASSERT_EQ(::clock_gettime(CLOCK_REALTIME_COARSE, &now), 0);
  } while (std::tie(now.tv_sec, now.tv_nsec) <= std::tie(status.st_ctim.tv_sec, status.st_ctim.tv_nsec));
}

struct BackupsTest : testing::Test {
  BackupsTest() {
    fs::create_directories(top / "dst/sub");
    fs::create_directories(top / "outside");
    root.reset(::open((top / "dst").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    sub.reset(::open((top / "dst/sub").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  // source: the inode that is being copied; landing: DST's path beneath the root.
  void begin(const std::string& suffix, const std::string& directory, const std::string& landing = {},
             const struct stat& source = {}) {
    gate.begin(root.get(), Filter(), landing, source.st_dev, source.st_ino);
    gate.keep_backups(suffix, directory);
  }
  void write(const std::string& path, const std::string& content) { std::ofstream(top / path) << content; }
  std::string read(const std::string& path) {
    std::ifstream file(top / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  io::Result<void> keep() { return backups.keep(sub.get(), "file", "sub/file", "DST/sub/file"); }

  ScratchDirectory scratch;
  const fs::path top = scratch.path();
  io::Fd root, sub;
  RemovalGate gate{SyncSettings()};
  Losses losses;
  OpenedDirectories opened{[](const io::Error& error) { ADD_FAILURE() << error.message(); }};
  Backups backups{-1, gate, opened, losses};
};

TEST_F(BackupsTest, TheOldFileHasBothNamesAndAnOlderBackupGoes) {
  begin("~", "");
  write("dst/sub/file", "new");
  write("dst/sub/file~", "oldest");
  ASSERT_TRUE(keep());
  EXPECT_EQ(read("dst/sub/file"), "new");
  EXPECT_EQ(read("dst/sub/file~"), "new");
  EXPECT_TRUE(fs::equivalent(top / "dst/sub/file", top / "dst/sub/file~"));
  ASSERT_TRUE(keep());
  EXPECT_EQ(std::distance(fs::directory_iterator(top / "dst/sub"), {}), 2);
}

// What was put is put again if the answer is lost. Its old version must not give way to its new one.
TEST_F(BackupsTest, WhatThisRunHasPutTakesNoBackupsPlace) {
  begin("~", "");
  write("dst/sub/file", "old");
  wait_for_a_later_ctime(top / "dst/sub/file");
  Backups of_this_run(-1, gate, opened, losses);
  const auto put_again = [&] { return of_this_run.keep(sub.get(), "file", "sub/file", "DST/sub/file"); };
  of_this_run.expect_repeats();
  ASSERT_TRUE(put_again());
  EXPECT_EQ(read("dst/sub/file~"), "old");
  fs::remove(top / "dst/sub/file");
  write("dst/sub/file", "new");
  ASSERT_TRUE(put_again());
  EXPECT_EQ(read("dst/sub/file~"), "old");
  fs::create_hard_link(top / "dst/sub/file", top / "dst/sub/its other name");
  ASSERT_TRUE(put_again());
  EXPECT_EQ(read("dst/sub/file~"), "old");
}

// A backup is a further name, so the old file looks as if it had changed.
TEST_F(BackupsTest, EachNameOfAnOldFileIsKept) {
  begin("~", "");
  write("dst/sub/file", "old");
  fs::create_hard_link(top / "dst/sub/file", top / "dst/sub/other");
  wait_for_a_later_ctime(top / "dst/sub/file");
  Backups of_this_run(-1, gate, opened, losses);
  of_this_run.expect_repeats();
  for (const std::string name : {"file", "other"}) {
    ASSERT_TRUE(of_this_run.keep(sub.get(), name, "sub/" + name, "DST/sub/" + name));
    fs::remove(top / "dst/sub" / name);
    EXPECT_EQ(read("dst/sub/" + name + "~"), "old");
  }
}

TEST_F(BackupsTest, DirectoriesAndMissingNamesNeedNone) {
  begin("~", "");
  EXPECT_TRUE(keep());
  fs::create_directory(top / "dst/sub/file");
  EXPECT_TRUE(keep());
  EXPECT_EQ(std::distance(fs::directory_iterator(top / "dst/sub"), {}), 1);
}

TEST_F(BackupsTest, TheDirectoryIsBeneathDstWhereverThatIs) {
  const Backups in_root(root.get(), gate, opened, losses);
  write("dst/sub/file", "x");
  begin("", "kept/now");
  ASSERT_TRUE(in_root.keep(sub.get(), "file", "sub/file", "f"));
  EXPECT_EQ(read("dst/kept/now/sub/file"), "x");
  begin(".old", "kept", "sub");
  ASSERT_TRUE(in_root.keep(sub.get(), "file", "sub/file", "f"));
  EXPECT_EQ(read("dst/sub/kept/file.old"), "x");
  begin("", "beside", "sub/file");
  ASSERT_TRUE(in_root.keep(sub.get(), "file", "sub/file", "f"));
  EXPECT_EQ(read("dst/sub/beside/file"), "x");
}

// Nothing else may have changed in them, and then nothing else would set their times again.
TEST_F(BackupsTest, DirectoriesOfTheDestinationKeepTheirTimes) {
  const Backups in_root(root.get(), gate, opened, losses);
  begin("", "sub/kept/now");
  write("dst/sub/file", "x");
  const timespec times[2] = {{1'000'000'000, 7}, {1'000'000'000, 7}};
  for (const char* path : {"dst/sub", "dst"})
    ASSERT_EQ(::utimensat(AT_FDCWD, (top / path).c_str(), times, 0), 0);
  ASSERT_TRUE(in_root.keep(sub.get(), "file", "sub/file", "f"));
  EXPECT_EQ(read("dst/sub/kept/now/sub/file"), "x");
  for (const char* path : {"dst/sub", "dst"}) {
    const struct stat status = status_of(top / path);
    EXPECT_EQ(status.st_mtim.tv_sec, 1'000'000'000) << path;
    EXPECT_EQ(status.st_mtim.tv_nsec, 7) << path;
  }
}

TEST_F(BackupsTest, WhatIsBeingCopiedIsNotReplacedByABackup) {
  write("dst/sub/file", "x");
  write("dst/sub/file~", "source");
  struct stat source {};
  ASSERT_EQ(::stat((top / "dst/sub/file~").c_str(), &source), 0);
  begin("~", "", "", source);
  const auto kept = keep();
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message().find("which is being copied"), std::string::npos);
  EXPECT_EQ(read("dst/sub/file~"), "source");
}

TEST_F(BackupsTest, WhatEqualsTheNewOneTakesNoBackupsPlace) {
  begin("~", "");
  Backups in_root(root.get(), gate, opened, losses);
  Entry entry;
  const auto keep_for = [&](const std::string& name) {
    const auto kept = in_root.keep(sub.get(), name, "sub/" + name, "DST/sub/" + name, &entry);
    EXPECT_TRUE(kept) << name;
  };
  write("dst/sub/file", "same");
  write("dst/sub/file~", "older");
  struct stat status {};
  ASSERT_EQ(::fstatat(sub.get(), "file", &status, 0), 0);
  entry.mtime = {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
  entry.size = 4;
  keep_for("file");
  EXPECT_EQ(read("dst/sub/file~"), "older");
  ++entry.size;
  keep_for("file");
  EXPECT_EQ(read("dst/sub/file~"), "same");

  fs::create_symlink("here", top / "dst/sub/link");
  entry.type = EntryType::symlink;
  entry.link_target = "here";
  keep_for("link");
  EXPECT_FALSE(fs::is_symlink(top / "dst/sub/link~"));
  entry.link_target = "there";
  keep_for("link");
  EXPECT_TRUE(fs::is_symlink(top / "dst/sub/link~"));

  write("dst/first", "other");
  write("dst/sub/second", "second");
  fs::create_hard_link(top / "dst/first", top / "dst/sub/third");
  entry.type = EntryType::hard_link;
  entry.first_name = own("first");
  keep_for("second");
  EXPECT_EQ(read("dst/sub/second~"), "second");
  keep_for("third");
  EXPECT_FALSE(fs::exists(top / "dst/sub/third~"));
}

TEST_F(BackupsTest, WhereTimesSayNothingAnEqualFileIsKept) {
  begin("~", "");
  write("dst/sub/file", "same");
  struct stat status {};
  ASSERT_EQ(::fstatat(sub.get(), "file", &status, 0), 0);
  Entry entry;
  entry.mtime = {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
  entry.size = 4;
  backups.distrust_times();
  EXPECT_TRUE(backups.keep(sub.get(), "file", "sub/file", "DST/sub/file", &entry));
  EXPECT_EQ(read("dst/sub/file~"), "same");
}

TEST_F(BackupsTest, ADirectoryThatIsSwappedForASymlinkLeadsNowhere) {
  const Backups in_root(root.get(), gate, opened, losses);
  begin("", "kept");
  write("dst/sub/file", "x");
  fs::create_directories(top / "dst/kept/sub");
  fs::create_directory(top / "outside/sub");
  fs::create_directory_symlink(top / "outside", top / "dst/other");
  std::atomic<bool> over{false};
  std::thread swapper([&] {
    while (!over) {
      ::renameat2(root.get(), "kept", root.get(), "other", RENAME_EXCHANGE);
    }
  });
  // Until both have been met, the directory and the symlink in its place.
  int kept = 0, refused = 0;
  for (int round = 0; round < 3000 || kept == 0 || refused == 0; ++round) {
    ++(in_root.keep(sub.get(), "file", "sub/file", "f") ? kept : refused);
  }
  over = true;
  swapper.join();
  EXPECT_TRUE(fs::is_empty(top / "outside/sub"));
}

TEST_F(BackupsTest, BackupsAreProtectedFromDelete) {
  begin("~", "");
  EXPECT_TRUE(gate.protects("sub/file~", false));
  EXPECT_FALSE(gate.protects("sub/file", false));
  EXPECT_FALSE(gate.protects("sub~", true));
  begin("", "kept/now");
  EXPECT_TRUE(gate.protects("kept", true));
  EXPECT_TRUE(gate.protects("kept/now/file", false));
  EXPECT_FALSE(gate.protects("kept/other", false));
  EXPECT_FALSE(gate.protects("kept/nowhere", false));
}

}  // namespace
}  // namespace rdcp::tree
