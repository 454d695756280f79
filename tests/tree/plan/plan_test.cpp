// The queue between the walk and the workers: what it hands out, when, and when it is over.
#include "tree/plan/plan.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

struct PlanTest : testing::Test {
  PlanTest() { root.given = "SRC"; }

  Item item_in(const DirectoryRef& directory, const std::string& name) {
    directory->add_child();
    Item item;
    item.directory = directory;
    item.name = name;
    item.status.st_mode = S_IFREG | 0644;
    item.status.st_nlink = 1;
    return item;
  }
  Batch batch_of(std::vector<Item> items) {
    Batch batch;
    batch.items = std::move(items);
    return batch;
  }
  FileTransferRef large(const std::string& name) {
    return std::make_shared<FileTransfer>(item_in(top, name));
  }
  template <class T>
  T take(const void* worker = nullptr) {
    Work work;
    EXPECT_EQ(plan.take(work, worker == nullptr ? this : worker), Plan::Next::work);
    again = work.again;
    T* task = std::get_if<T>(&work.task);
    if (task == nullptr) {
      ADD_FAILURE() << "another task: " << work.task.index();
      return {};
    }
    return std::move(*task);
  }
  Plan::Next next() {
    Work work;
    return plan.take(work, this);
  }
  // The target has answered for all of it.
  bool settle(PackTask& task) {
    task.batch.next = task.batch.items.size();
    return plan.settle_batch(task.batch);
  }
  void open(const FileTransferRef& file, std::uint64_t size, const OpenAnswer& answer = {.usable = true}) {
    OpenedFile opened;
    opened.fd.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    opened.size = size;
    file->set_opened(std::move(opened), false);
    plan.settle_open(file, answer);
  }
  void settle(const DataTask& task) {
    const auto step = plan.settle_extent(task.file, {.settled_bytes = task.extent.length});
    if (!step) return;
    EXPECT_TRUE(std::holds_alternative<CommitTask>(*step));
    plan.settle_last_step(task.file);
  }

  Root root;
  DirectoryRef top = std::make_shared<DirectoryTracker>(root);
  Plan plan{{.extent_bytes = 4096, .by_kernel_bytes = 1 << 20}};
  bool again = false;
};

TEST_F(PlanTest, IsOverWhenTheWalkIsAndAllIsSettled) {
  EXPECT_EQ(next(), Plan::Next::wait) << "the walk may still find something";
  plan.add(batch_of({item_in(top, "a")}));
  PackTask task = take<PackTask>();
  plan.walk_finished();
  EXPECT_EQ(next(), Plan::Next::wait) << "the batch may have to be sent again";
  EXPECT_TRUE(settle(task));
  EXPECT_EQ(next(), Plan::Next::none);
}

TEST_F(PlanTest, ABatchThatDidNotFitIsHandedOutOnce) {
  plan.add(batch_of({item_in(top, "a"), item_in(top, "b")}));
  PackTask task = take<PackTask>();
  task.batch.next = 1;
  EXPECT_FALSE(plan.settle_batch(task.batch)) << "the rest stays with the worker";
  EXPECT_EQ(task.batch.settled, 1u);
  EXPECT_EQ(next(), Plan::Next::wait);
  EXPECT_TRUE(settle(task));
}

TEST_F(PlanTest, ADirectoryIsFinishedWhenAllInItIsSettled) {
  plan.add(batch_of({item_in(top, "a")}));
  PackTask task = take<PackTask>();
  plan.listed(top);
  EXPECT_EQ(next(), Plan::Next::wait);
  settle(task);
  PackTask finish = take<PackTask>();
  ASSERT_EQ(finish.batch.items.size(), 1u);
  EXPECT_EQ(finish.batch.items[0].kind, Item::Kind::finish);
  EXPECT_EQ(finish.batch.items[0].directory, top);
}

TEST_F(PlanTest, DirectoriesAboveFollowTheirLastChildInOneArchive) {
  const auto inner = std::make_shared<DirectoryTracker>(top, "inner", DirectoryScope{});
  const auto innermost = std::make_shared<DirectoryTracker>(inner, "most", DirectoryScope{});
  plan.listed(top);
  plan.listed(inner);
  plan.listed(innermost);
  plan.walk_finished();
  PackTask finish = take<PackTask>();
  ASSERT_EQ(finish.batch.items.size(), 3u);
  EXPECT_EQ(finish.batch.items[0].directory, innermost);
  EXPECT_EQ(finish.batch.items[2].directory, top);
  settle(finish);
  EXPECT_EQ(next(), Plan::Next::none) << "none of them is sent twice";
}

TEST_F(PlanTest, WhatNeedsNoFinishLetsTheOneAboveItBeFinished) {
  const auto inner = std::make_shared<DirectoryTracker>(top, "inner", DirectoryScope{});
  inner->set_unreadable();
  plan.listed(top);
  plan.listed(inner);
  PackTask finish = take<PackTask>();
  ASSERT_EQ(finish.batch.items.size(), 1u);
  EXPECT_EQ(finish.batch.items[0].directory, top);
}

TEST_F(PlanTest, LargeFilesComeFirstButEveryOtherTimeABatch) {
  for (const char* name : {"a", "b"}) plan.add(batch_of({item_in(top, name)}));
  plan.add(large("x"));
  plan.add(large("y"));
  std::vector<bool> batches;
  for (int i = 0; i < 4; ++i) {
    Work work;
    ASSERT_EQ(plan.take(work, this), Plan::Next::work);
    batches.push_back(std::holds_alternative<PackTask>(work.task));
  }
  EXPECT_EQ(batches, (std::vector<bool>{true, false, true, false}));
}

TEST_F(PlanTest, NoMoreFilesAreOpenThanItsBound) {
  const std::size_t most = FileQueue::kOpenMax;
  for (std::size_t i = 0; i <= most; ++i) plan.add(large(std::to_string(i)));
  std::vector<FileTransferRef> open;
  for (std::size_t i = 0; i < most; ++i) open.push_back(take<OpenTask>().file);
  EXPECT_EQ(next(), Plan::Next::wait);
  plan.settle_open(open.front(), {});  // refused
  EXPECT_NE(take<OpenTask>().file, nullptr);
}

TEST_F(PlanTest, FilesThatAreOpenedHaveNumbersOfTheirOwn) {
  plan.add(large("x"));
  plan.add(large("y"));
  const std::uint64_t first = take<OpenTask>().file->id();
  const std::uint64_t second = take<OpenTask>().file->id();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
}

TEST_F(PlanTest, AFilesExtentsGoToAllWorkersUnlessTheyOnlySpin) {
  int one = 0, other = 0;
  plan.add(large("x"));
  open(take<OpenTask>(&one).file, 3 * 4096, {.usable = true, .one_worker = true});
  EXPECT_EQ(take<DataTask>(&one).extent.offset, 0u);
  Work work;
  EXPECT_EQ(plan.take(work, &other), Plan::Next::wait);
  EXPECT_EQ(take<DataTask>(&one).extent.offset, 4096u);
  plan.lose_stream(0, &one);
  EXPECT_EQ(take<LostTask>(&other).stream, 0u);
  EXPECT_EQ(take<DataTask>(&other).extent.offset, 2 * 4096u) << "nobody else would ever send it";
}

TEST_F(PlanTest, ALargeFileHoldsUpItsDirectory) {
  plan.add(large("x"));
  plan.listed(top);
  plan.walk_finished();
  open(take<OpenTask>().file, 4096 + 500);
  const DataTask first = take<DataTask>(), second = take<DataTask>();
  EXPECT_EQ(second.extent, (io::Extent{4096, 500}));
  settle(second);
  EXPECT_EQ(next(), Plan::Next::wait);
  settle(first);
  PackTask finish = take<PackTask>();
  EXPECT_EQ(finish.batch.items[0].directory, top);
  settle(finish);
  EXPECT_EQ(next(), Plan::Next::none);
}

TEST_F(PlanTest, AFileThatChangedIsOpenedAgainBeforeOthers) {
  const auto first = large("x");
  plan.add(first);
  plan.add(large("y"));
  open(take<OpenTask>().file, 0);
  EXPECT_EQ(take<CommitTask>().file, first);
  first->read_again();
  plan.settle_last_step(first);
  const auto again = take<OpenTask>().file;
  EXPECT_EQ(again->item().name, "x");
  EXPECT_NE(again, first);
  EXPECT_EQ(again->readings(), 2u);
}

TEST_F(PlanTest, FurtherNamesAreSentWhenAllElseIsSettled) {
  Item first = item_in(top, "first");
  first.status.st_ino = 7;
  first.status.st_nlink = 2;
  Item further = item_in(top, "further");
  further.status = first.status;
  ASSERT_TRUE(plan.linked().is_first(first));
  further.kind = Item::Kind::hard_link;
  plan.linked().add(further);
  plan.add(batch_of({first}));
  plan.walk_finished();
  PackTask task = take<PackTask>();
  EXPECT_EQ(next(), Plan::Next::wait) << "the first name may not be there yet";
  settle(task);
  PackTask links = take<PackTask>();
  ASSERT_EQ(links.batch.items.size(), 1u);
  EXPECT_EQ(links.batch.items[0].link_target, "first");
}

TEST_F(PlanTest, WhereTheFirstNameFailedTheNextOneIsCopied) {
  Item first = item_in(top, "first");
  first.status.st_ino = 7;
  first.status.st_nlink = 3;
  first.status.st_size = 100;
  ASSERT_TRUE(plan.linked().is_first(first));
  for (const char* name : {"b", "c"}) {
    Item further = item_in(top, name);
    further.status = first.status;
    further.kind = Item::Kind::hard_link;
    plan.linked().add(further);
  }
  plan.linked().pass_on(first);
  plan.walk_finished();
  PackTask copy = take<PackTask>();
  ASSERT_EQ(copy.batch.items.size(), 1u);
  EXPECT_EQ(copy.batch.items[0].kind, Item::Kind::entry);
  EXPECT_EQ(plan.totals().bytes, 100u) << "its content is to be sent after all";
  settle(copy);
  PackTask link = take<PackTask>();
  ASSERT_EQ(link.batch.items.size(), 1u);
  EXPECT_EQ(link.batch.items[0].link_target, "b");
}

TEST_F(PlanTest, NothingIsSentBeforeAllEarlierBatchesAreCompared) {
  plan.compare_first();
  plan.add(batch_of({item_in(top, "a")}));
  plan.add(batch_of({item_in(top, "b")}));
  CompareTask first = take<CompareTask>(), second = take<CompareTask>();
  EXPECT_EQ(plan.first_serial(), first.batch.serial);
  second.batch.compared = 1;
  EXPECT_FALSE(plan.settle_comparison(second.batch)) << "the plan keeps it";
  EXPECT_EQ(next(), Plan::Next::wait);
  first.batch.compared = 1;
  EXPECT_TRUE(plan.settle_comparison(first.batch)) << "the worker goes on with it";
  EXPECT_EQ(take<PackTask>().batch.items[0].name, "b");
}

TEST_F(PlanTest, NamesAreToldLastAndInTurnWhereALimitCounts) {
  int left = 2;
  plan.set_last_names([&](NamesBatch&) { return left-- > 0; }, true);
  plan.add(batch_of({item_in(top, "a")}));
  plan.walk_finished();
  PackTask task = take<PackTask>();
  EXPECT_EQ(next(), Plan::Next::wait);
  settle(task);
  NamesTask first = take<NamesTask>();
  EXPECT_EQ(next(), Plan::Next::wait) << "how much may still be removed depends on the first";
  plan.settle_names(first.names);
  plan.settle_names(take<NamesTask>().names);
  EXPECT_EQ(next(), Plan::Next::none);
}

TEST_F(PlanTest, NamesOfALostStreamAreToldAgain) {
  int left = 1;
  plan.set_last_names([&](NamesBatch&) { return left-- > 0; }, false);
  plan.walk_finished();
  NamesTask names = take<NamesTask>();
  plan.lose_stream(0, this);
  plan.give_back(std::move(names), 0, this);
  EXPECT_EQ(take<LostTask>().stream, 0u);
  plan.settle_lost(0);
  names = take<NamesTask>();
  EXPECT_TRUE(again);
  plan.settle_names(names.names);
  EXPECT_EQ(next(), Plan::Next::none);
}

TEST_F(PlanTest, WhatWasPackedForALostStreamIsPackedAgain) {
  plan.add(batch_of({item_in(top, "a"), item_in(top, "b")}));
  PackTask task = take<PackTask>();
  task.batch.next = 1;
  plan.settle_batch(task.batch);
  task.batch.next = 2;
  plan.lose_stream(3, this);
  plan.give_back(std::move(task), 3, this);
  take<LostTask>();
  plan.settle_lost(3);
  const PackTask again_packed = take<PackTask>();
  EXPECT_TRUE(again);
  EXPECT_EQ(again_packed.batch.next, 1u) << "a was answered for, b was not";
}

TEST_F(PlanTest, AFullPlanHoldsTheWalkerUpUntilSomethingIsTaken) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < BatchQueue::kItemsMax; ++i) items.push_back(item_in(top, std::to_string(i)));
  plan.add(batch_of(std::move(items)));
  std::atomic<bool> added = false;
  std::thread walker([&] {
    EXPECT_TRUE(plan.add(batch_of({item_in(top, "more")})));
    added = true;
  });
  EXPECT_FALSE(added);
  PackTask task = take<PackTask>();
  walker.join();
  EXPECT_EQ(take<PackTask>().batch.items[0].name, "more");
}

TEST_F(PlanTest, AStopFreesTheWalkerAndEndsTheWorkers) {
  for (std::size_t i = 0; i < FileQueue::kWaitingMax; ++i) plan.add(large("x"));
  std::thread walker([&] { EXPECT_FALSE(plan.add(large("more"))); });
  plan.stop();
  walker.join();
  EXPECT_EQ(next(), Plan::Next::none);
  EXPECT_TRUE(plan.stopped());
}

TEST_F(PlanTest, AWorkerThatFoundNothingIsToldOfWhatComes) {
  const std::uint64_t before = plan.changes();
  plan.add(batch_of({item_in(top, "a")}));
  EXPECT_EQ(plan.changes(), before) << "nobody waited";
  PackTask task = take<PackTask>();
  EXPECT_EQ(next(), Plan::Next::wait);
  plan.add(batch_of({item_in(top, "b")}));
  EXPECT_NE(plan.changes(), before);
}

TEST_F(PlanTest, TotalsAreCompleteWhenTheWalkIsOver) {
  plan.count(2, 300);
  plan.discount(1, 100);
  EXPECT_FALSE(plan.totals().complete);
  plan.walk_finished();
  EXPECT_TRUE(plan.totals().complete);
  EXPECT_EQ(plan.totals().files, 1u);
  EXPECT_EQ(plan.totals().bytes, 200u);
}

}  // namespace
}  // namespace rdcp::tree
