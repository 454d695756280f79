#include "tree/fs/local_path.h"

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

TEST(LocalPath, ADirectoryToOpenAndANameInIt) {
  const auto split = [](const char* path) {
    const LocalPath parts = split_local_path(path);
    return parts.directory + " " + parts.name;
  };
  EXPECT_EQ(split("a"), ". a");
  EXPECT_EQ(split("a/"), ". a");
  EXPECT_EQ(split("a/b"), "a b");
  EXPECT_EQ(split("a/b//"), "a b");
  EXPECT_EQ(split("/a"), "/ a");
  EXPECT_EQ(split("/a/b"), "/a b");
  EXPECT_EQ(split("/"), "/ ");
}

TEST(LocalPath, SymlinksAreResolvedWhereThatIsPossible) {
  const ScratchDirectory here;
  write_file(here / "file", "");
  ASSERT_EQ(::symlink("file", (here / "link").c_str()), 0);
  EXPECT_EQ(split_real_path(here / "link").name, "file");
  EXPECT_EQ(split_real_path(here / "missing").name, "missing");
}

}  // namespace
}  // namespace rdcp::tree
