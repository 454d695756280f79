// An interrupted run leaves a marker; tests how far the next run trusts it.
#include "tree/resume/run_marker.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/tree/scratch_directory.h"
#include "tree/resume/mount_stamp.h"

namespace rdcp::tree {
namespace {

using Found = RunMarker::Found;

class RunMarkerTest : public ::testing::Test {
 protected:
  void leave(const std::string& makes = "") { ASSERT_TRUE(RunMarker::make(scratch_.fd(), name_, makes)); }
  // What an earlier run may have left.
  void leave_content(const std::string& content) {
    write_file(scratch_ / name_, content);
    ASSERT_EQ(::chmod((scratch_ / name_).c_str(), 0600), 0);
  }
  Found look() {
    return RunMarker::look(scratch_.fd(), name_, [] { return false; });
  }

  ScratchDirectory scratch_;
  const std::string name_ = ".rdcp-0123456789abcdef0123456789abcdef.run";
};

TEST_F(RunMarkerTest, OfThisMountIsTrusted) {
  EXPECT_EQ(look(), Found::none);
  leave();
  EXPECT_EQ(look(), Found::trusted);
}

TEST_F(RunMarkerTest, ANameOfAnotherFormIsNeverMadeOrLookedUp) {
  for (const std::string name :
       {"", "a", "..", ".rdcp-0123.run", "../.rdcp-0123456789abcdef0123456789abcdef.run",
        ".rdcp-0123456789abcdef0123456789abcdef.journal"}) {
    EXPECT_FALSE(RunMarker::make(scratch_.fd(), name, "")) << name;
    EXPECT_EQ(RunMarker::look(scratch_.fd(), name, [] { return false; }), Found::none) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

TEST_F(RunMarkerTest, OfAnotherMountOrBootIsDoubtful) {
  leave_content("0123456789abcdef\n");
  EXPECT_EQ(look(), Found::doubtful);
}

TEST_F(RunMarkerTest, WithoutAStampIsDoubtful) {
  for (const char* content : {"", "\n", "\nname", "0123", "garbage"}) {
    leave_content(content);
    EXPECT_EQ(look(), Found::doubtful) << content;
  }
}

TEST_F(RunMarkerTest, AStampThatIsCutShortIsDoubtful) {
  leave();
  const std::string content = content_of(scratch_ / name_);
  for (std::size_t length = 0; length < content.size(); ++length) {
    leave_content(content.substr(0, length));
    EXPECT_EQ(look(), Found::doubtful) << length;
  }
}

TEST_F(RunMarkerTest, ARunThatGoesOnDoesNotMakeItTrusted) {
  leave_content("0123456789abcdef\n");
  leave();
  EXPECT_EQ(look(), Found::doubtful);
}

TEST_F(RunMarkerTest, OfARunThatGoesOnIsNotForUs) {
  const auto marker = RunMarker::make(scratch_.fd(), name_, "");
  ASSERT_TRUE(marker);
  EXPECT_EQ(look(), Found::in_use);
  EXPECT_FALSE(RunMarker::make(scratch_.fd(), name_, ""));
}

TEST_F(RunMarkerTest, OfARunThatEndsMeanwhileIsTaken) {
  auto marker = RunMarker::make(scratch_.fd(), name_, "");
  ASSERT_TRUE(marker);
  const auto end_it = [&] { return marker.reset(), true; };
  EXPECT_EQ(RunMarker::look(scratch_.fd(), name_, end_it), Found::trusted);
}

TEST_F(RunMarkerTest, IsNewOnce) {
  EXPECT_TRUE(RunMarker::make(scratch_.fd(), name_, "")->is_new());
  EXPECT_FALSE(RunMarker::make(scratch_.fd(), name_, "")->is_new());
}

TEST_F(RunMarkerTest, IsGoneOnceItIsRemoved) {
  auto marker = RunMarker::make(scratch_.fd(), name_, "");
  EXPECT_TRUE(marker->remove(scratch_.fd()).ok());
  EXPECT_TRUE(names_in(scratch_.path()).empty());
  EXPECT_TRUE(marker->remove(scratch_.fd()).ok()) << "a missing name is not an error";
}

TEST_F(RunMarkerTest, SaysWhatItsRunWasToMake) {
  EXPECT_EQ(RunMarker::made_beside(scratch_.fd(), name_), "");
  for (const auto& makes : {std::string(), std::string("new"), std::string("a\nb"), std::string(255, 'n')}) {
    const auto marker = RunMarker::make(scratch_.fd(), name_, makes);
    ASSERT_TRUE(marker);
    EXPECT_EQ(RunMarker::made_beside(scratch_.fd(), name_), makes) << "also while it is in use";
    ASSERT_EQ(::unlink((scratch_ / name_).c_str()), 0);
  }
}

}  // namespace
}  // namespace rdcp::tree
