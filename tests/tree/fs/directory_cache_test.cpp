#include "tree/fs/directory_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

ino_t inode_of(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return status.st_ino;
}

std::size_t open_descriptors() {
  return names_in("/proc/self/fd").size();
}

// A path that stops at no directory: the error's code, and the path it names.
void expect_open_error(DirectoryCache& directories, const std::string& path, int code,
                       const std::string& subject) {
  const auto opened = directories.open(own(path));
  ASSERT_FALSE(opened.ok()) << path;
  EXPECT_EQ(opened.error().code, code) << opened.error().message();
  EXPECT_EQ(opened.error().subject, subject);
}

class DirectoryCacheTest : public testing::Test {
 protected:
  ScratchDirectory root_;
  ScratchDirectory outside_;
  OpenedDirectories opened_{[](const io::Error& error) { ADD_FAILURE() << error.message(); }};
  DirectoryCache directories_{root_.fd(), opened_};
};

TEST_F(DirectoryCacheTest, EmptyPathIsTheRoot) {
  EXPECT_EQ(directories_.open(own("")).value(), root_.fd());
}

TEST_F(DirectoryCacheTest, MissingParentsAreMadeForTheirOwnerOnly) {
  const auto opened = directories_.open(own("a/b/c"));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ(inode_of(*opened), status_of(root_ / "a/b/c").st_ino);
  for (const char* made : {"a", "a/b", "a/b/c"})
    EXPECT_EQ(status_of(root_ / made).st_mode & 07777, 0700u) << made;
}

TEST_F(DirectoryCacheTest, ExistingDirectoryIsOpenedAsItIs) {
  fs::create_directories(root_ / "a/b");
  ASSERT_EQ(::chmod((root_ / "a/b").c_str(), 0755), 0);
  ASSERT_TRUE(directories_.open(own("a/b")).ok());
  EXPECT_EQ(status_of(root_ / "a/b").st_mode & 07777, 0755u);
}

TEST_F(DirectoryCacheTest, OpensOneDirectoryOnce) {
  const int first = directories_.open(own("a")).value();
  ASSERT_TRUE(directories_.open(own("b")).ok());
  EXPECT_EQ(directories_.open(own("a")).value(), first);
}

TEST_F(DirectoryCacheTest, FileOnTheWayIsNamed) {
  fs::create_directories(root_ / "a");
  write_file(root_ / "a/file", "kept");
  expect_open_error(directories_, "a/file/b/c", ENOTDIR, "a/file");
  expect_open_error(directories_, "a/file", ENOTDIR, "a/file");
  EXPECT_EQ(content_of(root_ / "a/file"), "kept");
}

TEST_F(DirectoryCacheTest, SymlinkOnTheWayIsNotFollowed) {
  fs::create_directory(root_ / "a");
  fs::create_directory_symlink(outside_.path(), root_ / "a/out");
  fs::create_directory_symlink("a", root_ / "inside");
  expect_open_error(directories_, "a/out/b", ENOTDIR, "a/out");
  expect_open_error(directories_, "a/out", ENOTDIR, "a/out");
  expect_open_error(directories_, "inside/b", ENOTDIR, "inside");
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
  EXPECT_THAT(names_in(root_ / "a"), ElementsAre("out"));
}

TEST_F(DirectoryCacheTest, DanglingSymlinkIsNotFilledIn) {
  fs::create_directory_symlink(outside_ / "new", root_ / "dangling");
  expect_open_error(directories_, "dangling", ENOTDIR, "dangling");
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
}

// The guard lets no such path through (AdmittedNames); this is what would become of one.
TEST_F(DirectoryCacheTest, NoPathLeadsOutOfTheRoot) {
  fs::create_directory(root_ / "a");
  for (const char* path : {"..", "../x", "a/../../x"}) {
    EXPECT_FALSE(directories_.open(own(path)).ok()) << path;
  }
  EXPECT_THAT(names_in(root_.path()), ElementsAre("a"));
}

TEST_F(DirectoryCacheTest, PathsMayBeLongerThanPathMax) {
  std::string path;
  for (int level = 0; level < 40; ++level) path += std::string(level == 0 ? "" : "/") + std::string(200, 'd');
  ASSERT_GT(path.size(), std::size_t{PATH_MAX});
  const auto made = directories_.open(own(path));
  ASSERT_TRUE(made.ok()) << made.error().message();
  const ino_t inode = inode_of(*made);
  EXPECT_EQ(inode_of(DirectoryCache(root_.fd(), opened_).open(own(path)).value()), inode);
  EXPECT_TRUE(directories_.open(own(path + "/next")).ok());
}

TEST_F(DirectoryCacheTest, ComponentsMayBeAsLongAsTheKernelTakes) {
  EXPECT_TRUE(directories_.open(own(std::string(255, 'n') + "/" + std::string(255, 'm'))).ok());
  expect_open_error(directories_, "a/" + std::string(256, 'n') + "/b", ENAMETOOLONG,
                    "a/" + std::string(256, 'n'));
}

TEST_F(DirectoryCacheTest, KeptDirectoryStaysThatInodeWhenItsNameBecomesASymlink) {
  const ino_t inode = inode_of(directories_.open(own("a")).value());
  fs::rename(root_ / "a", root_ / "moved");
  fs::create_directory_symlink(outside_.path(), root_ / "a");
  EXPECT_EQ(inode_of(directories_.open(own("a")).value()), inode);
  ASSERT_TRUE(directories_.open(own("a/b")).ok());
  EXPECT_THAT(names_in(root_ / "moved"), ElementsAre("b"));

  directories_.clear();
  expect_open_error(directories_, "a/b", ENOTDIR, "a");
  EXPECT_THAT(names_in(outside_.path()), IsEmpty());
}

TEST_F(DirectoryCacheTest, RemovedDirectoryIsMadeAnew) {
  ASSERT_TRUE(directories_.open(own("a")).ok());
  fs::remove(root_ / "a");
  ASSERT_TRUE(directories_.open(own("a/b")).ok());
  EXPECT_TRUE(fs::is_directory(root_ / "a/b"));
}

TEST_F(DirectoryCacheTest, KeepsABoundedNumberOpen) {
  const std::size_t before = open_descriptors();
  for (std::size_t i = 0; i < DirectoryCache::kCached + 20; ++i)
    ASSERT_TRUE(directories_.open(own(std::to_string(i))).ok());
  EXPECT_EQ(open_descriptors(), before + DirectoryCache::kCached);
  directories_.clear();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(DirectoryCacheTest, GivesBackDescriptorsWhenTheyRunOut) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit low{open_descriptors() + 20, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  int failed = 0;
  for (int i = 0; i < 60; ++i) failed += directories_.open(own(std::to_string(i) + "/x")).ok() ? 0 : 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(failed, 0);
}

TEST_F(DirectoryCacheTest, OwnDirectoriesWithoutRightsAreEntered) {
  root_.give_to_scoped_user();
  const ScopedUser user;
  for (const auto& [name, mode] :
       {std::pair{"read_only", 0555}, {"closed", 0000}, {"not_searchable", 0644}}) {
    ASSERT_EQ(::mkdir((root_ / name).c_str(), static_cast<mode_t>(mode)), 0);
    const auto opened = directories_.open(own(std::string(name) + "/b"));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(status_of(root_ / name).st_mode & 07777, static_cast<mode_t>(mode) | 0700u) << name;
  }
}

TEST_F(DirectoryCacheTest, RightsOnForeignDirectoriesAreNotTouched) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to own a directory that the user does not";
  ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
  ASSERT_EQ(::mkdir((root_ / "theirs").c_str(), 0755), 0);
  const ScopedUser user;
  expect_open_error(directories_, "theirs/b", EACCES, "theirs/b");
  EXPECT_EQ(status_of(root_ / "theirs").st_mode & 07777, 0755u);
}

TEST_F(DirectoryCacheTest, WorkersMayMakeTheSamePathAtOnce) {
  std::atomic<int> failed = 0;
  const auto work = [&] {
    DirectoryCache mine(root_.fd(), opened_);
    for (int i = 0; i < 50; ++i) failed += mine.open(own(std::to_string(i) + "/a/b/c")).ok() ? 0 : 1;
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace rdcp::tree
