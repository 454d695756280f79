#include "tree/meta/kept_times.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

struct KeptTimes : testing::Test {
  KeptTimes() {
    const timespec times[2] = {{1'000'000'000, 1}, {1'000'000'000, 123'456'789}};
    EXPECT_EQ(::futimens(scratch.fd(), times), 0);
  }
  struct stat status() const {
    struct stat found {};
    EXPECT_EQ(::fstat(scratch.fd(), &found), 0);
    return found;
  }
  void make_a_file() { write_file(scratch / "new", "new"); }

  ScratchDirectory scratch;
  Losses losses;
};

TEST_F(KeptTimes, TheDirectoryHasItsTimeAgain) {
  with_times_kept(scratch.fd(), "DST", losses, [this] {
    make_a_file();
    EXPECT_NE(status().st_mtim.tv_sec, 1'000'000'000);
  });
  EXPECT_EQ(status().st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(status().st_mtim.tv_nsec, 123'456'789);
  EXPECT_TRUE(losses.items().empty());
}

TEST_F(KeptTimes, WhereNothingChangesNothingIsTouched) {
  const struct stat before = status();
  with_times_kept(scratch.fd(), "DST", losses, [] {});
  EXPECT_EQ(status().st_ctim.tv_sec, before.st_ctim.tv_sec);
  EXPECT_EQ(status().st_ctim.tv_nsec, before.st_ctim.tv_nsec);
  EXPECT_TRUE(losses.items().empty());
}

TEST_F(KeptTimes, ATimeThatIsNotKnownIsALossAndTheChangeIsMade) {
  bool made = false;
  with_times_kept(-1, "DST", losses, [&] { made = true; });
  EXPECT_TRUE(made);
  ASSERT_EQ(losses.items().size(), 1u);
  EXPECT_EQ(losses.items().front().kind, LossKind::times);
  EXPECT_EQ(losses.items().front().first_path, "DST");
}

// futimens(2) wants an owner, and no descriptor that only names the directory (O_PATH).
TEST_F(KeptTimes, ATimeThatCannotBeGivenBackIsALoss) {
  const io::Fd named(::open(scratch.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  with_times_kept(named.get(), "DST", losses, [this] { make_a_file(); });
  ASSERT_EQ(losses.items().size(), 1u);
  EXPECT_EQ(losses.items().front().kind, LossKind::times);
}

TEST_F(KeptTimes, ADirectoryOfSomebodyElseLosesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setuid(kNobody) == 0;
    bool made = false;
    with_times_kept(scratch.fd(), "DST", losses, [&] {
      made = ::openat(scratch.fd(), "theirs", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0;
    });
    ::_exit(other && made && losses.items().empty() ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace rdcp::tree
