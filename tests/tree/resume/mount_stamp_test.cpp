// A stamp tells one mount of one boot from all others.
#include "tree/resume/mount_stamp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "io/fd.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

io::Fd opened(const std::string& path) {
  return io::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

TEST(MountStamp, IsTheSameForAllFilesOfAMount) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkdir((scratch.path() + "/sub").c_str(), 0700), 0);
  const auto stamp = mount_stamp(opened(scratch.path()).get());
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp, mount_stamp(opened(scratch.path() + "/sub").get()));
}

TEST(MountStamp, AnotherMountHasAnother) {
  const ScratchDirectory scratch;
  const io::Fd disk = opened(scratch.path());
  const io::Fd proc = opened("/proc");
  ASSERT_TRUE(mount_stamp(disk.get()));
  EXPECT_NE(mount_stamp(disk.get()), mount_stamp(proc.get()));
}

TEST(MountStamp, MountedOnceMoreIsAnother) {
  const ScratchDirectory scratch;
  const std::string& point = scratch.path();
  const auto below = mount_stamp(opened(point).get());
  for (int i = 0; i < 2; ++i) {
    if (::mount("none", point.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "cannot mount here";
    const auto stamp = mount_stamp(opened(point).get());
    EXPECT_EQ(::umount(point.c_str()), 0);
    EXPECT_TRUE(stamp);
    EXPECT_NE(stamp, below);
  }
}

TEST(MountStamp, AnotherBootHasAnother) {
  const io::Fd here = opened("/");
  const auto one = mount_stamp(here.get(), "00000000-1111-2222-3333-444444444444");
  ASSERT_TRUE(one);
  EXPECT_NE(one, mount_stamp(here.get(), "00000000-1111-2222-3333-555555555555"));
}

TEST(MountStamp, ABootIdThatCannotBeReadIsNoStamp) {
  EXPECT_FALSE(mount_stamp(opened("/").get(), ""));
}

TEST(MountStamp, AFileThatCannotBeAskedHasNone) {
  EXPECT_FALSE(mount_stamp(-1));
}

}  // namespace
}  // namespace rdcp::tree
