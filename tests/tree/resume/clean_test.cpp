// Tests which files `rdcp --clean` finds, and which it leaves alone.
#include "tree/resume/clean.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tree/fs/broken_listing.h"
#include "tests/tree/scratch_directory.h"
#include "tree/resume/part_file.h"
#include "tree/resume/run_marker.h"

namespace rdcp::tree {
namespace {

class CleanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::mkdir((scratch_.path() + "/sub").c_str(), 0700), 0);
    sub_.reset(::open((scratch_.path() + "/sub").c_str(), O_RDONLY | O_DIRECTORY));
  }
  std::optional<PartFile> part(const char* name) {
    SourceState state{.token = {}, .size = 64 << 20};
    state.token.bytes[0] = std::byte{1};
    return PartFile::open(sub_.get(), name, {.source = state});
  }
  std::vector<Leftover> run(bool remove, const std::string& beneath = "") {
    std::vector<Leftover> all;
    bool last = false;
    clean({.path = scratch_.path() + beneath, .remove = remove}, reporter_, [&](const Leftovers& some) {
      all.insert(all.end(), some.found.begin(), some.found.end());
      last = some.last;
      return true;
    });
    EXPECT_TRUE(last);
    return all;
  }
  std::size_t names() {
    std::size_t count = 0;
    for (const char* name : {"a", "b"}) {
      const PartNames own(name);
      for (const std::string& file : {own.part, own.journal}) {
        struct stat status {};
        count += ::fstatat(sub_.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? 1 : 0;
      }
    }
    return count;
  }

  ScratchDirectory scratch_;
  io::Fd sub_;
  std::vector<std::string> problems_;
  Reporter reporter_{[this](const Problem& problem) { problems_.push_back(problem.text); }};
};

TEST_F(CleanTest, ListsOnlyWhenNothingIsToBeRemoved) {
  part("a").reset();
  const auto found = run(false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "sub/" + PartNames("a").journal);
  EXPECT_EQ(found[0].final_path, "sub/a");
  EXPECT_FALSE(found[0].in_use);
  EXPECT_EQ(names(), 2u);
}

TEST_F(CleanTest, RemovesPartsAndJournals) {
  part("a").reset();
  part("b").reset();
  EXPECT_EQ(run(true).size(), 2u);
  EXPECT_EQ(names(), 0u);
  EXPECT_TRUE(problems_.empty());
}

TEST_F(CleanTest, LeavesAloneWhatIsInUse) {
  part("a").reset();
  auto used = part("b");
  ASSERT_TRUE(used);
  const auto found = run(true);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(std::ranges::count(found, true, &Leftover::in_use), 1);
  EXPECT_EQ(names(), 2u);
  used.reset();
  EXPECT_EQ(run(true).size(), 1u);
  EXPECT_EQ(names(), 0u);
}

TEST_F(CleanTest, FindsAPartWithoutAJournalAndAJournalWithoutAPart) {
  part("a").reset();
  part("b").reset();
  ::unlinkat(sub_.get(), PartNames("a").journal.c_str(), 0);
  ::unlinkat(sub_.get(), PartNames("b").part.c_str(), 0);
  EXPECT_EQ(run(true).size(), 2u);
  EXPECT_EQ(names(), 0u);
}

// They cannot be locked, so a run may just be about to rename them; e2e.failures waits until they count as
// left.
TEST_F(CleanTest, LeavesLinksAndNodesWithTemporaryNamesAMoment) {
  const std::string sub = scratch_.path() + "/sub";
  std::ofstream(sub + "/file") << "x";
  ASSERT_EQ(::symlinkat("file", sub_.get(), temporary_name("link").c_str()), 0);
  ASSERT_EQ(::mkfifoat(sub_.get(), temporary_name("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::linkat(sub_.get(), "file", sub_.get(), temporary_name("name").c_str(), 0), 0);
  const auto young = run(true);
  ASSERT_EQ(young.size(), 3u);
  EXPECT_TRUE(std::ranges::all_of(young, &Leftover::in_use));
  EXPECT_EQ(names_in(sub).size(), 4u);
}

TEST_F(CleanTest, TouchesNothingElse) {
  std::ofstream(scratch_.path() + "/sub/file") << "x";
  ASSERT_EQ(::symlinkat("file", sub_.get(), PartNames("a").part.c_str()), 0);
  ASSERT_EQ(::symlinkat("..", sub_.get(), "loop"), 0);
  ASSERT_EQ(::mkfifoat(sub_.get(), PartNames("b").journal.c_str(), 0600), 0);
  EXPECT_TRUE(run(true).empty());
  EXPECT_EQ(names(), 2u);
}

// A run that was to make the directory has its marker beside it; of those that were to make others nothing is
// said.
TEST_F(CleanTest, FindsTheMarkerOfARunThatWasToMakeTheDirectory) {
  const std::string mine = ".rdcp-0123456789abcdef0123456789abcdef.run";
  const std::string other = ".rdcp-fedcba98765432100123456789abcdef.run";
  const auto here = [this] { return names_in(scratch_.path()); };
  for (const char* asked : {"sub", "sub/", "./sub", "sub/.", "sub/../sub", "new"}) {
    ASSERT_TRUE(RunMarker::make(scratch_.fd(), mine, std::string("new") == asked ? "new" : "sub"));
    ASSERT_TRUE(RunMarker::make(scratch_.fd(), other, "others"));
    for (const bool remove : {false, true}) {
      const auto found = run(remove, std::string("/") + asked);
      ASSERT_EQ(found.size(), 1u) << asked;
      EXPECT_EQ(found[0].kind, OwnName::run);
      EXPECT_EQ(found[0].path, "../" + mine);
      EXPECT_EQ(here().size(), remove ? 2u : 3u);
    }
    EXPECT_EQ(here(), (std::vector<std::string>{other, "sub"}));
  }
  EXPECT_TRUE(problems_.empty()) << "also where the directory has not been made";
}

// A run was killed while it removed a directory that it had replaced.
TEST_F(CleanTest, RemovesDirectoriesThatWereReplaced) {
  const std::string left = scratch_.path() + "/sub/.a.rdcp-0123abcd";
  std::filesystem::create_directories(left + "/deep");
  write_file(left + "/deep/file", std::string(100'000, 'x'));
  const io::Fd run_in_progress(::open(left.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(run_in_progress.get(), LOCK_EX | LOCK_NB), 0);
  auto found = run(true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].in_use);
  ASSERT_EQ(::flock(run_in_progress.get(), LOCK_UN), 0);

  found = run(false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "sub/.a.rdcp-0123abcd");
  EXPECT_FALSE(found[0].in_use);
  EXPECT_GE(found[0].bytes, 100'000u);
  EXPECT_TRUE(std::filesystem::exists(left + "/deep/file"));
  EXPECT_EQ(run(true).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(problems_.empty());
}

TEST_F(CleanTest, StopsWhenNobodyListens) {
  part("a").reset();
  part("b").reset();
  clean({.path = scratch_.path(), .remove = false}, reporter_, [](const Leftovers&) { return false; });
  EXPECT_EQ(names(), 4u);
}

TEST_F(CleanTest, ADirectoryThatCannotBeListedIsAProblem) {
  part("a").reset();
  const BrokenListing broken(scratch_.path() + "/sub");
  run(true);
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_[0].find("/sub: Input/output error"), std::string::npos);
}

TEST_F(CleanTest, AMissingDirectoryIsAProblem) {
  clean({.path = scratch_.path() + "/none", .remove = true}, reporter_,
        [](const Leftovers&) { return true; });
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_[0].find("none: No such file"), std::string::npos);
}

}  // namespace
}  // namespace rdcp::tree
