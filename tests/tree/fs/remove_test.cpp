#include "tree/fs/remove.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/tree/scratch_directory.h"
#include "tree/fs/own_names.h"

namespace rdcp::tree {
namespace {

TEST(RemoveTree, DirectoriesThatStayHaveTheirModes) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch / "top/open/deep");
  write_file(scratch / "top/open/deep/kept", "x");
  for (const char* path : {"top/open/deep", "top/open", "top"}) {
    ASSERT_EQ(::chmod((scratch / path).c_str(), 0555), 0);
  }
  MayRemove may_remove;
  may_remove.look = [](const std::string& path, const struct stat&) { return !path.ends_with("kept"); };
  const auto removed = remove_tree(scratch.fd(), "top", "top", may_remove);
  ASSERT_TRUE(removed);
  EXPECT_FALSE(*removed);
  for (const char* path : {"top", "top/open", "top/open/deep"}) {
    EXPECT_EQ(status_of(scratch / path).st_mode & 07777, 0555u) << path;
  }
  for (const char* path : {"top", "top/open", "top/open/deep"}) {
    ASSERT_EQ(::chmod((scratch / path).c_str(), 0755), 0);
  }
}

TEST(RemoveTree, AfterAnErrorTheyHaveThemToo) {
  const ScratchDirectory scratch;
  const std::string own_name = take_temporary_name("test", [](const char*) { return 0; });
  std::filesystem::create_directories(scratch / "top/sub");
  write_file(scratch / "top/sub/file", "x");
  for (const char* path : {"top/sub", "top"}) ASSERT_EQ(::chmod((scratch / path).c_str(), 0555), 0);
  MayRemove may_remove;
  may_remove.remove = [&](const std::string&, const struct stat&) {
    return RemovalPermit::for_own(own_name);
  };
  may_remove.back_up = [](int, const std::string&, const std::string&) -> io::Result<void> {
    return io::plain_error(io::ErrorKind::file, "keep", "file", "there is no room");
  };
  EXPECT_FALSE(remove_tree(scratch.fd(), "top", "top", may_remove));
  for (const char* path : {"top", "top/sub"}) {
    EXPECT_EQ(status_of(scratch / path).st_mode & 07777, 0555u) << path;
    ASSERT_EQ(::chmod((scratch / path).c_str(), 0755), 0);
  }
}

}  // namespace
}  // namespace rdcp::tree
