// What a mirror removes at the target, to make way for something else or because the source does not have it,
// and what it leaves alone. rsync(1) is the model where it has an answer.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tree/copy/copy_fixture.h"
#include "tests/tree/fs/broken_listing.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The same directory under another name, for the length of a test; only root has it.
class BindMount {
 public:
  BindMount(const std::string& directory, const std::string& path)
      : path_(path), mounted_(::mount(directory.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0) {}
  BindMount(const BindMount&) = delete;
  BindMount& operator=(const BindMount&) = delete;
  ~BindMount() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  explicit operator bool() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

class RemovalTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(scratch / "from");
    fs::create_directory(scratch / "to");
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / "to";
    copy.sync.enabled = true;
    copy.sync.mirror = true;
    copy.sync.itemize = true;
    copy.changes = [this](const Changes& changes) {
      const std::lock_guard lock(mutex_);
      for (const Change& change : changes.list) lines_.push_back(change.code + " " + change.path);
    };
  }
  void make(const std::string& path, const std::string& content = "x") {
    fs::create_directories(fs::path(scratch / path).parent_path());
    write_file(scratch / path, content);
  }
  bool exists(const std::string& path) { return fs::exists(fs::symlink_status(scratch / path)); }
  // The source has a file where the target has a directory with two files.
  void put_a_directory_in_the_way() {
    make("from/a", "new");
    make("to/a/x");
    make("to/a/sub/y");
  }
  void expect_all_stays() {
    EXPECT_TRUE(exists("to/a/x"));
    EXPECT_TRUE(exists("to/a/sub/y"));
    EXPECT_THAT(names_in(scratch / "to"), ElementsAre("a"));
    EXPECT_THAT(deletions(), IsEmpty());
  }
  void exclude(const std::string& pattern, FilterSides sides = FilterSides::unstated) {
    copy.selection.rules.push_back({.pattern = pattern, .sides = sides});
  }
  std::vector<std::string> deletions() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> told;
    for (const std::string& line : lines_) {
      if (line.starts_with("*deleting")) told.push_back(line.substr(12));
    }
    std::ranges::sort(told);
    return told;
  }

  ScratchDirectory scratch;
  CopyCase copy;
  Heard heard;

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(RemovalTest, AFullDirectoryGivesWayWithDeleteOrForceOnly) {
  put_a_directory_in_the_way();
  run_copy(copy, heard);
  expect_all_stays();
  EXPECT_THAT(heard.text(), HasSubstr("--delete or --force"));
  for (const bool force : {false, true}) {
    Heard nothing;
    fs::remove_all(scratch / "to/a");
    make("to/a/x");
    make("to/a/sub/y");
    copy.sync.force = force;
    copy.sync.delete_extra = !force;
    run_copy(copy, nothing);
    EXPECT_EQ(content_of(scratch / "to/a"), "new");
    EXPECT_EQ(nothing.text(), "");
    EXPECT_THAT(names_in(scratch / "to"), ElementsAre("a"));
  }
}

TEST_F(RemovalTest, AnEmptyDirectoryGivesWay) {
  make("from/file", "new");
  fs::create_symlink("file", scratch / "from/link");
  fs::create_directory(scratch / "to/file");
  fs::create_directory(scratch / "to/link");
  run_copy(copy, heard);
  EXPECT_EQ(content_of(scratch / "to/file"), "new");
  EXPECT_TRUE(fs::is_symlink(scratch / "to/link"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(RemovalTest, WhatIsProtectedInADirectoryKeepsItInTheWay) {
  put_a_directory_in_the_way();
  exclude("y");
  for (const bool dry_run : {true, false}) {
    copy.sync.dry_run = dry_run;
    copy.sync.delete_extra = true;
    run_copy(copy, heard);
    expect_all_stays();
    EXPECT_THAT(heard.text(), HasSubstr("a/sub/y"));
  }
}

TEST_F(RemovalTest, AProtectedDirectoryStaysInTheWay) {
  put_a_directory_in_the_way();
  exclude("a", FilterSides::target);
  copy.sync.force = true;
  run_copy(copy, heard);
  expect_all_stays();
  EXPECT_EQ(heard.problems().size(), 1u) << heard.text();
}

TEST_F(RemovalTest, MaxDeleteBoundsWhatMakesWay) {
  put_a_directory_in_the_way();
  copy.sync.delete_extra = true;
  copy.sync.max_delete = 2;  // sub, y and x are three
  for (const bool dry_run : {true, false}) {
    copy.sync.dry_run = dry_run;
    run_copy(copy, heard);
    expect_all_stays();
    EXPECT_THAT(heard.text(), HasSubstr("--max-delete"));
  }
  Heard nothing;
  copy.sync.max_delete = 3;
  run_copy(copy, nothing);
  EXPECT_EQ(content_of(scratch / "to/a"), "new");
  EXPECT_EQ(nothing.text(), "");
  EXPECT_THAT(deletions(), ElementsAre("a/sub/", "a/sub/y", "a/x"));
}

TEST_F(RemovalTest, WhatMakesWayAndWhatIsExtraShareTheLimit) {
  make("from/a");
  make("from/b");
  make("to/a/1");
  make("to/b/2");
  make("to/extra");
  copy.sync.delete_extra = true;
  copy.sync.max_delete = 2;
  run_copy(copy, heard);
  EXPECT_TRUE(fs::is_regular_file(scratch / "to/a"));
  EXPECT_TRUE(fs::is_regular_file(scratch / "to/b"));
  EXPECT_TRUE(exists("to/extra"));
  EXPECT_THAT(heard.text(), HasSubstr("--max-delete"));
}

TEST_F(RemovalTest, TheSourceIsNotRemovedToMakeWay) {
  make("to/a/src/a", "new");
  copy.sources = {scratch / "to/a/src/"};
  copy.sync.delete_extra = true;
  run_copy(copy, heard);
  EXPECT_EQ(content_of(scratch / "to/a/src/a"), "new");
  EXPECT_THAT(heard.text(), HasSubstr("it is being copied"));
}

TEST_F(RemovalTest, ASourceThatIsAFileIsNotRemovedToMakeWay) {
  make("to/f/f", "new");
  copy.sources = {scratch / "to/f/f"};
  copy.sync.force = true;
  run_copy(copy, heard);
  EXPECT_EQ(content_of(scratch / "to/f/f"), "new");
  EXPECT_THAT(heard.text(), HasSubstr("it is being copied"));
}

// What the source has under the name of a directory that it lies in is put into the source itself.
TEST_F(RemovalTest, NothingWithinTheSourceIsExtra) {
  make("to/src/precious");
  make("to/src/deep/precious");
  make("to/src/src/deep/file");
  copy.sources = {scratch / "to/src/"};
  copy.sync.delete_extra = true;
  run_copy(copy, heard);
  EXPECT_TRUE(exists("to/src/precious"));
  EXPECT_TRUE(exists("to/src/deep/precious"));
  EXPECT_THAT(heard.text(), HasSubstr("it is being copied"));
}

TEST_F(RemovalTest, AMountPointStaysInTheWay) {
  put_a_directory_in_the_way();
  make("elsewhere/precious");
  const BindMount mount(scratch / "elsewhere", scratch / "to/a/sub");
  if (!mount) GTEST_SKIP() << "needs root to mount";
  copy.sync.delete_extra = true;
  run_copy(copy, heard);
  EXPECT_TRUE(exists("to/a/x"));
  EXPECT_TRUE(exists("elsewhere/precious"));
  EXPECT_THAT(heard.text(), HasSubstr("mount"));
}

TEST_F(RemovalTest, NothingBehindAMountPointIsExtra) {
  make("from/file");
  make("to/extra/sub/y");
  make("elsewhere/precious");
  const BindMount mount(scratch / "elsewhere", scratch / "to/extra/sub");
  if (!mount) GTEST_SKIP() << "needs root to mount";
  copy.sync.delete_extra = true;
  run_copy(copy, heard);
  EXPECT_TRUE(exists("elsewhere/precious"));
  EXPECT_THAT(heard.text(), HasSubstr("to/extra/sub"));
}

TEST_F(RemovalTest, WhatExistsIsNotReplacedByADirectoryWhereItIsToBeIgnored) {
  make("from/x/f");
  make("from/x/sub/g");
  make("from/link/f");
  fs::create_directory(scratch / "from/empty");
  make("to/x", "precious");
  make("to/empty", "precious");
  fs::create_directory(scratch / "elsewhere");
  fs::create_symlink(scratch / "elsewhere", scratch / "to/link");
  fs::last_write_time(scratch / "from", fs::last_write_time(scratch / "from") - std::chrono::hours(1));
  copy.sync.ignore_existing = true;
  copy.sync.force = true;
  run_copy(copy, heard);
  EXPECT_EQ(content_of(scratch / "to/x"), "precious");
  EXPECT_EQ(content_of(scratch / "to/empty"), "precious");
  EXPECT_TRUE(fs::is_symlink(scratch / "to/link"));
  EXPECT_TRUE(fs::is_empty(scratch / "elsewhere"));
  EXPECT_THAT(heard.text(), HasSubstr("to/x"));
  EXPECT_THAT(heard.text(), HasSubstr("to/link"));
  EXPECT_THAT(heard.text(), Not(HasSubstr("to/empty")));
  EXPECT_EQ(fs::last_write_time(scratch / "to"), fs::last_write_time(scratch / "from"));
}

// Once each name that cannot go has been looked at, that is all, however many they are.
TEST_F(RemovalTest, DeletionEndsWhereMuchCannotGo) {
  constexpr int kStay = 1'100;
  constexpr int kGo = 3'100;  // together more than are looked at in one pass
  make("from/file");
  exclude("kept");
  for (int i = 0; i < kStay; ++i) fs::create_directories(scratch / ("to/a" + std::to_string(i) + "/kept"));
  for (int i = 0; i < kGo; ++i) write_file(scratch / ("to/b" + std::to_string(i)), "");
  copy.sync.delete_extra = true;
  run_copy(copy, heard);
  EXPECT_EQ(names_in(scratch / "to").size(), kStay + 1u);
  EXPECT_EQ(heard.text(), "");
}

// If the listing breaks off nobody knows which entries are extra; this is reported, and the entries stay.
TEST_F(RemovalTest, ADirectoryThatCannotBeListedIsNamed) {
  make("from/file");
  make("to/extra/in it");
  copy.sync.delete_extra = true;
  // At once; in the second listing, which is to find what goes; and in what goes.
  const std::vector<std::pair<std::string, int>> cases{{"to", 0}, {"to", 6}, {"to/extra", 0}};
  for (const auto& [directory, calls] : cases) {
    const BrokenListing broken(scratch / directory, calls);
    Heard errors;
    run_copy(copy, errors);
    EXPECT_TRUE(exists("to/extra/in it"));
    EXPECT_THAT(errors.text(), HasSubstr("list directory " + (scratch / directory))) << calls;
  }
  Heard nothing;
  run_copy(copy, nothing);
  EXPECT_FALSE(exists("to/extra"));
  EXPECT_EQ(nothing.text(), "");
}

}  // namespace
}  // namespace rdcp::tree
