// When a directory of the source may be finished.
#include "tree/plan/directory_tracker.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

struct DirectoryTrackerTest : testing::Test {
  static DirectoryRef child_of(const DirectoryRef& parent, const std::string& name) {
    return std::make_shared<DirectoryTracker>(parent, name, DirectoryScope{});
  }
  Root root;
  DirectoryRef top = std::make_shared<DirectoryTracker>(root);
};

TEST_F(DirectoryTrackerTest, APathLeadsFromTheRoot) {
  EXPECT_EQ(top->local_path(), "");
  EXPECT_EQ(child_of(child_of(top, "a"), "b")->local_path(), "a/b");
  EXPECT_EQ(&child_of(top, "a")->root(), &root);
}

TEST_F(DirectoryTrackerTest, IsSettledWhenItIsListedAndAllInItIsSettled) {
  top->add_child();
  EXPECT_FALSE(top->settle_child());  // the listing is over
  EXPECT_TRUE(top->settle_child());
  EXPECT_TRUE(top->is_to_be_finished());
}

TEST_F(DirectoryTrackerTest, WaitsForADirectoryInIt) {
  const DirectoryRef inner = child_of(top, "inner");
  EXPECT_FALSE(top->settle_child());
  EXPECT_TRUE(inner->settle_child());
  EXPECT_TRUE(top->settle_child());
}

TEST_F(DirectoryTrackerTest, WhatCouldNotBeOpenedIsNotFinished) {
  top->set_unreadable();
  EXPECT_TRUE(top->settle_child());
  EXPECT_FALSE(top->is_to_be_finished());
  EXPECT_FALSE(top->lies_in_batch(1));
}

TEST_F(DirectoryTrackerTest, WhatIsComparedIsFinishedOnlyIfSomethingChanges) {
  top->add_comparison();
  EXPECT_FALSE(top->settle_child());  // the listing; the comparison is still out
  EXPECT_FALSE(top->is_to_be_finished());
  top->set_changed();
  EXPECT_TRUE(top->is_to_be_finished());
}

TEST_F(DirectoryTrackerTest, LiesInABatchOnlyWithAllThatIsInIt) {
  top->add_child();
  top->add_to_batch(1);
  EXPECT_TRUE(top->lies_in_batch(1));
  top->add_child();
  EXPECT_FALSE(top->lies_in_batch(1)) << "a child went alone";
  top->add_to_batch(2);
  EXPECT_FALSE(top->lies_in_batch(2)) << "the first child lies in another batch";
}

TEST_F(DirectoryTrackerTest, AnEmptyDirectoryLiesInAnyBatch) {
  EXPECT_TRUE(top->lies_in_batch(7));
}

// The entry of what another thread lists lies in that thread's batch, so the parent must wait for the answer.
TEST_F(DirectoryTrackerTest, TheEntryOfAnOfferedDirectoryIsNotInItsParentsBatch) {
  const DirectoryRef own = child_of(top, "own");
  own->add_finish_to_batch(1);
  EXPECT_TRUE(top->lies_in_batch(1));
  const DirectoryRef offered = child_of(top, "offered");
  offered->offer();
  offered->add_finish_to_batch(1);
  EXPECT_FALSE(top->lies_in_batch(1));
}

TEST_F(DirectoryTrackerTest, AnItemThatLeavesItsBatchTakesTheFinishesAboveAlong) {
  const DirectoryRef inner = child_of(top, "inner");
  inner->add_comparison();
  inner->move_item_out();
  EXPECT_TRUE(inner->is_outgrown());
  EXPECT_TRUE(inner->is_to_be_finished()) << "something in it is written";
  EXPECT_FALSE(top->is_outgrown());
  inner->postpone_finish();
  EXPECT_TRUE(top->is_outgrown());
  inner->begin_finish();
  EXPECT_FALSE(inner->is_outgrown());
}

TEST_F(DirectoryTrackerTest, FollowsItsLastChildInTheSameArchive) {
  const DirectoryRef first = child_of(top, "first");
  const DirectoryRef last = child_of(top, "last");
  EXPECT_FALSE(top->settle_child());
  EXPECT_FALSE(top->finish_behind_last_child()) << "two are open";
  EXPECT_FALSE(top->settle_child());
  EXPECT_TRUE(top->finish_behind_last_child());
  EXPECT_FALSE(top->settle_child()) << "its own entry is out: it must not be handed out again";
}

TEST_F(DirectoryTrackerTest, WhatDidNotChangeFollowsNoChild) {
  top->add_comparison();
  EXPECT_FALSE(top->settle_child());
  EXPECT_FALSE(top->finish_behind_last_child());
}

}  // namespace
}  // namespace rdcp::tree
