// Tests which entries a walk finds, and how it hands them out.
#include "tree/walk/walker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

struct WalkerTest : testing::Test {
  WalkerTest() {
    limits.small_file_max = 1000;
    limits.batch_bytes = 1 << 20;
    choice.recursive = true;
  }
  void make(const std::string& path, std::size_t bytes = 1) {
    fs::create_directories(fs::path(scratch / path).parent_path());
    write_file(scratch / path, std::string(bytes, 'x'));
  }
  void choose(const Selection& selection, const std::vector<std::string>& paths = {}) {
    NamedPaths named;
    PathsNamed part;
    for (const std::string& path : paths) part.paths += path + '\0';
    EXPECT_TRUE(named.add(part));
    auto made = Choice::create(selection, true, std::move(named));
    ASSERT_TRUE(made);
    choice = std::move(*made);
  }
  // Walks to its end, and answers for all that it finds.
  void walk(unsigned threads = 1) {
    std::vector<Root> roots(1);
    roots[0].fd.reset(::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    roots[0].given = "SRC";
    roots[0].follows = follows;
    if (limits.compares) plan.compare_first();
    Walker walker(plan, roots, choice, limits, {{}, names, reporter});
    ASSERT_TRUE(walker.start(threads));
    for (;;) {
      Work work;
      const Plan::Next next = plan.take(work, this);
      if (next == Plan::Next::none) break;
      if (next == Plan::Next::wait) {
        std::this_thread::yield();
        continue;
      }
      take(work.task);
    }
  }
  void take(Task& task) {
    if (auto* open = std::get_if<OpenTask>(&task)) {
      const std::string path = open->file->item().local_path();
      expect_open_above(path);
      EXPECT_TRUE(alone.insert(path).second) << path << " is found twice";
      plan.settle_open(open->file, {});
    } else if (auto* pack = std::get_if<PackTask>(&task)) {
      note(pack->batch);
      pack->batch.next = pack->batch.items.size();
      plan.settle_batch(pack->batch);
    } else {
      Batch& batch = std::get<CompareTask>(task).batch;
      note(batch);
      batch.compared = batch.next = batch.items.size();
      if (plan.settle_comparison(batch)) plan.settle_batch(batch);
    }
  }
  void note(const Batch& batch) {
    batches.emplace_back();
    for (const Item& item : batch.items) {
      const std::string path = item.local_path();
      expect_open_above(path);
      if (item.kind == Item::Kind::finish) {
        EXPECT_TRUE(finished.insert(path).second) << path << " is finished twice";
      } else if (item.kind == Item::Kind::enter) {
        entered.push_back(path);
      } else {
        EXPECT_TRUE(small.insert(path).second) << path << " is found twice";
        kinds[path] = item.kind;
      }
      batches.back().push_back(path);
    }
  }
  // The entries in a directory come before its finish.
  void expect_open_above(const std::string& path) {
    for (std::string above = path; !above.empty();) {
      const std::size_t slash = above.find_last_of('/');
      above = slash == std::string::npos ? "" : above.substr(0, slash);
      EXPECT_FALSE(finished.contains(above)) << above << " is finished before " << path;
    }
  }

  ScratchDirectory scratch;
  std::vector<Problem> told;
  Reporter reporter{[this](const Problem& problem) { told.push_back(problem); }};
  NameTable names;
  Choice choice;
  WalkLimits limits;
  bool follows = false;  // symbolic links
  Plan plan{{.extent_bytes = 64 << 10, .by_kernel_bytes = 1 << 20}};
  std::set<std::string> small, alone, finished;
  std::vector<std::string> entered;
  std::map<std::string, Item::Kind> kinds;
  std::vector<std::vector<std::string>> batches;
};

TEST_F(WalkerTest, FindsEverythingOnceAndFinishesDirectoriesBehindIt) {
  for (const char* path : {"a", "d/b", "d/e/c", "f/g"}) make(path);
  fs::create_directory(scratch / "empty");
  walk();
  EXPECT_THAT(small, UnorderedElementsAre("a", "d/b", "d/e/c", "f/g"));
  EXPECT_THAT(finished, UnorderedElementsAre("", "d", "d/e", "f", "empty"));
  EXPECT_EQ(plan.totals().files, 4u);
  EXPECT_EQ(plan.totals().bytes, 4u);
  EXPECT_TRUE(plan.totals().complete);
}

TEST_F(WalkerTest, ASmallTreeIsOneBatchWithItsFinishes) {
  for (const char* path : {"d/a", "d/b"}) make(path);
  walk();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].back(), "") << "the top is finished last";
}

TEST_F(WalkerTest, LargeFilesGoAloneAndHoldUpTheirDirectory) {
  make("d/large", 5000);
  make("d/small", 10);
  walk();
  EXPECT_THAT(alone, UnorderedElementsAre("d/large"));
  EXPECT_THAT(small, UnorderedElementsAre("d/small"));
  EXPECT_EQ(plan.totals().bytes, 5010u);
}

TEST_F(WalkerTest, ABatchHasNoMoreItemsThanItsBound) {
  limits.batch_items = 3;
  for (int i = 0; i < 10; ++i) make("d/" + std::to_string(i));
  walk();
  EXPECT_EQ(small.size(), 10u);
  for (const auto& batch : batches) EXPECT_LE(batch.size(), 3u);
}

TEST_F(WalkerTest, ThreadsFindTheSame) {
  std::size_t made = 0;
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 20; ++j, ++made) make(std::to_string(i) + "/" + std::to_string(j) + "/file");
  }
  limits.batch_items = 7;
  walk(3);
  EXPECT_EQ(small.size(), made);
  EXPECT_EQ(finished.size(), 1 + 20 + made);
}

TEST_F(WalkerTest, DeeperThanItsDescriptors) {
  std::string path;
  for (int i = 0; i < 100; ++i) {
    path += "d/";
    make(path + "file");
  }
  walk();
  EXPECT_EQ(small.size(), 100u);
  EXPECT_EQ(finished.size(), 101u);
  EXPECT_TRUE(told.empty());
}

TEST_F(WalkerTest, FurtherNamesOfAFileComeLastAsLinks) {
  make("a");
  make("z");
  fs::create_hard_link(scratch / "a", scratch / "b");
  fs::create_hard_link(scratch / "a", scratch / "c");
  walk();
  EXPECT_THAT(small, UnorderedElementsAre("a", "b", "c", "z"));
  int links = 0;
  for (const auto& [path, kind] : kinds) links += kind == Item::Kind::hard_link ? 1 : 0;
  EXPECT_EQ(links, 2);
  EXPECT_EQ(plan.totals().files, 4u);
  EXPECT_EQ(plan.totals().bytes, 2u) << "a link has nothing to send";
}

TEST_F(WalkerTest, LinksStandForWhatTheyLeadTo) {
  make("d/a", 5000);
  fs::create_directory_symlink("d", scratch / "to-d");
  fs::create_symlink("d/a", scratch / "to-a");
  follows = true;
  walk();
  EXPECT_THAT(alone, UnorderedElementsAre("d/a", "to-d/a", "to-a"));
  EXPECT_TRUE(small.empty());
  EXPECT_THAT(finished, UnorderedElementsAre("", "d", "to-d"));
  EXPECT_TRUE(told.empty());
}

TEST_F(WalkerTest, ALinkThatLeadsBackOrNowhereIsReported) {
  make("d/a");
  fs::create_directory_symlink("..", scratch / "d/up");
  fs::create_symlink("missing", scratch / "nowhere");
  fs::create_symlink("self", scratch / "self");
  follows = true;
  walk(2);
  EXPECT_THAT(small, UnorderedElementsAre("d/a"));
  EXPECT_THAT(finished, UnorderedElementsAre("", "d"));
  ASSERT_EQ(told.size(), 3u);
  std::string all;
  for (const Problem& problem : told) all += problem.text + "\n";
  EXPECT_THAT(all, testing::HasSubstr("SRC/d/up: a symbolic link leads back"));
  EXPECT_THAT(all, testing::HasSubstr("SRC/nowhere: No such file"));
  EXPECT_THAT(all, testing::HasSubstr("SRC/self: Too many levels"));
}

TEST_F(WalkerTest, WhatTheFilterHidesIsNotEntered) {
  make("keep/a");
  make("skip/b");
  Selection selection;
  FilterRule rule;
  rule.pattern = "skip";
  selection.rules.push_back(rule);
  choose(selection);
  walk();
  EXPECT_THAT(small, UnorderedElementsAre("keep/a"));
  EXPECT_FALSE(finished.contains("skip"));
}

TEST_F(WalkerTest, OnlyWhatIsNamedIsFound) {
  for (const char* path : {"a", "d/b", "d/c", "e/f"}) make(path);
  Selection selection;
  selection.named_only = true;
  choose(selection, {"a", "d/c", "missing"});
  walk();
  EXPECT_THAT(small, UnorderedElementsAre("a", "d/c"));
  ASSERT_EQ(told.size(), 1u);
}

TEST_F(WalkerTest, ADirectoryThatCannotBeOpenedIsToldAndNotFinished) {
  make("open/a");
  fs::create_directory(scratch / "shut");
  scratch.give_to_scoped_user();
  ASSERT_EQ(::chmod((scratch / "shut").c_str(), 0), 0);
  {
    const ScopedUser user;
    walk();
  }
  EXPECT_EQ(told.size(), 1u);
  EXPECT_FALSE(finished.contains("shut"));
  EXPECT_TRUE(small.contains("open/a"));
}

TEST_F(WalkerTest, ASyncEntersADirectoryBeforeWhatIsInIt) {
  make("d/e/a", 5000);
  limits.compares = true;
  walk();
  EXPECT_EQ(entered, (std::vector<std::string>{"", "d", "d/e"}));
  EXPECT_TRUE(small.contains("d/e/a")) << "large files are asked about in batches, too";
  EXPECT_TRUE(alone.empty());
}

TEST_F(WalkerTest, AStopEndsTheWalk) {
  for (int i = 0; i < 10; ++i) make(std::to_string(i) + "/file");
  limits.batch_items = 1;
  plan.stop();
  walk();
  EXPECT_TRUE(small.empty());
}

}  // namespace
}  // namespace rdcp::tree
