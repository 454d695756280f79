#include "tree/walk/source_walk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "tests/tree/heard.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

class SourceWalkTest : public testing::Test {
 protected:
  SourceWalkTest() {
    ::mkdirat(here_.fd(), "d", 0700);
    write_file(here_ / "d/a", "12345");
    write_file(here_ / "f", "123");
    job_.recursive = true;
  }
  // Opens, and walks to the end; the plan holds all that there is.
  PlanTotals walk(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) job_.paths.push_back(here_ / path);
    walk_.emplace(job_, SourceWishes{}, StandardStreams{}, heard_.reporter);
    EXPECT_TRUE(walk_->choose({}));
    facts_ = walk_->open();
    names_walk_ = walk_->names_walk();
    EXPECT_TRUE(walk_->start(plan_, {{}, names_, heard_.reporter}, 1000, 1000));
    while (!plan_.totals().complete) std::this_thread::yield();
    plan_.stop();
    walk_->end();
    return plan_.totals();
  }

  ScratchDirectory here_;
  Heard heard_;
  SourceJob job_;
  NameTable names_;
  std::optional<SourceWalk> walk_;
  Plan plan_{{.extent_bytes = 64 << 10, .by_kernel_bytes = 1 << 20}};
  std::vector<PathFacts> facts_;
  std::unique_ptr<NamesWalk> names_walk_;
};

TEST_F(SourceWalkTest, EverySourceIsInThePlan) {
  const PlanTotals totals = walk({"d", "f"});
  ASSERT_EQ(facts_.size(), 2u);
  EXPECT_EQ(facts_[0].kind, PathKind::directory);
  EXPECT_EQ(facts_[1].kind, PathKind::file);
  EXPECT_EQ(totals.files, 2u);
  EXPECT_EQ(totals.bytes, 8u);
  EXPECT_EQ(walk_->only_landing(), nullptr) << "there are two";
  EXPECT_EQ(heard_.text(), "");
}

TEST_F(SourceWalkTest, WhatIsNotThereIsReportedAndTheRestIsFound) {
  EXPECT_EQ(walk({"missing", "f"}).files, 1u);
  EXPECT_EQ(facts_[0].kind, PathKind::missing);
  EXPECT_NE(heard_.text(), "");
}

TEST_F(SourceWalkTest, AnOnlyDirectoryLandsWhereTheTargetSays) {
  walk({"d"});
  walk_->set_landings({"new"});
  ASSERT_NE(walk_->only_landing(), nullptr);
  EXPECT_EQ(*walk_->only_landing(), "new");
}

TEST_F(SourceWalkTest, NamesAreWalkedOnlyToDelete) {
  walk({"d"});
  EXPECT_EQ(names_walk_, nullptr);
}

TEST_F(SourceWalkTest, NamesAreWalkedToDelete) {
  job_.settings.sync.delete_extra = true;
  walk({"d"});
  EXPECT_NE(names_walk_, nullptr);
}

}  // namespace
}  // namespace rdcp::tree
