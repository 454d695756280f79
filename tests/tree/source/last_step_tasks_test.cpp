// The last word on a large file.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tree/source/task_fixture.h"
#include "tree/walk/stability.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;

struct LastSteps : TaskTest {
  // All of it has arrived, and its last step is to be done.
  Task last_step(const FileTransferRef&) {
    for (;;) {
      Task task = take();
      if (!std::holds_alternative<DataTask>(task)) return task;
      if (auto next = answer(task, fill_slot(task), AckStatus::done)) return std::move(*next);
    }
  }
  Task sent(const std::string& content) { return last_step(open(file("large", content))); }
  void change() {
    struct timespec times[2] = {{1'000'000'000 + ++changes, 0}, {1'000'000'000 + changes, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / "large").c_str(), times, 0), 0);
  }
  int changes = 0;
};

TEST_F(LastSteps, ACommitHasSizeAndDigestAndTheFileCounts) {
  begin();
  const std::string content(100'000, 'x');
  Task task = sent(content);
  const FileTransferRef large = std::get<CommitTask>(task).file;
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::commit);
  EXPECT_EQ(filled.frame.offset, content.size());
  EXPECT_EQ(filled.frame.extra, large->digest());
  EXPECT_EQ(archived(filled).begin()->first, "dst/large");
  EXPECT_EQ(entry.mtime.seconds, status_of(scratch / "large").st_mtim.tv_sec);
  EXPECT_FALSE(answer(task, filled, AckStatus::done));
  EXPECT_EQ(done().files, 1u);
  EXPECT_FALSE(large->opened().fd);
}

TEST_F(LastSteps, ARefusedCommitIsNoFile) {
  begin();
  Task task = sent("x");
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::refused));
  EXPECT_EQ(done().files, 0u);
}

TEST_F(LastSteps, AFileThatChangedIsAbandonedAndReadAnew) {
  begin();
  Task task = sent("content");
  change();
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::abandon);
  EXPECT_FALSE(answer(task, filled, AckStatus::done));
  EXPECT_EQ(done().files, 0u);
  EXPECT_EQ(done().bytes, 0u) << "what was sent counts no more";
  const Task again = take();
  ASSERT_TRUE(std::holds_alternative<OpenTask>(again));
  EXPECT_EQ(std::get<OpenTask>(again).file->readings(), 2u);
  EXPECT_EQ(problems(), "");
}

TEST_F(LastSteps, AFileThatIsNeverStillIsToldAndGetsNoStampOfItsOwn) {
  begin();
  const Item found = file("large", "content");
  open(found);
  FilledSlot filled;
  Task task;
  for (unsigned reading = 1; reading <= kReadTries; ++reading) {
    task = last_step(nullptr);
    change();
    filled = fill_slot(task);
    if (filled.frame.kind == net::FrameKind::commit) break;
    EXPECT_LT(reading, kReadTries);
    EXPECT_FALSE(answer(task, filled, AckStatus::done));
    Task again = take();
    EXPECT_FALSE(answer(again, fill_slot(again), AckStatus::done));
  }
  ASSERT_EQ(filled.frame.kind, net::FrameKind::commit);
  EXPECT_NE(problems().find("each time it was read again"), std::string::npos) << problems();
  (void)archived(filled);
  EXPECT_LT(entry.mtime.seconds, status_of(scratch / "large").st_mtim.tv_sec);
}

TEST_F(LastSteps, WhatWasGivenUpStaysGivenUpOverAnotherStream) {
  begin();
  Task task = sent("content");
  change();
  EXPECT_EQ(fill_slot(task).frame.kind, net::FrameKind::abandon);
  std::get<CommitTask>(task).file->set_opened({}, false);
  EXPECT_EQ(fill_slot(task).frame.kind, net::FrameKind::abandon);
}

TEST_F(LastSteps, AnAbandonedFileIsNoNameToBeLinkedTo) {
  begin();
  Item first = file("large", "content");
  std::filesystem::create_hard_link(scratch / "large", scratch / "second");
  first.status = status_of(scratch / "large");
  Item second = item("second");
  second.kind = Item::Kind::hard_link;
  ASSERT_TRUE(session->plan().linked().is_first(first));
  session->plan().linked().add(second);
  open(first);
  session->plan().walk_finished();
  Task data = take();
  (void)answer(data, fill_slot(data), AckStatus::refused);
  Task task = take();
  ASSERT_TRUE(std::holds_alternative<AbandonTask>(task));
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::abandon);
  EXPECT_FALSE(answer(task, filled, AckStatus::done));
  const Task next = take();
  ASSERT_TRUE(std::holds_alternative<PackTask>(next));
  EXPECT_EQ(std::get<PackTask>(next).batch.items.at(0).kind, Item::Kind::entry) << "it is copied instead";
}

TEST_F(LastSteps, AListHasTheDigestOfTheWholeContent) {
  begin();
  std::vector<SumLine> lines;
  session->tell_sums([&](const Sums& sums) { lines = sums.lines; });
  const std::string content(100'000, 'y');
  Task task = sent(content);
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::done));
  session->sums()->finish();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].path, "dst/large");
  EXPECT_EQ(lines[0].size, content.size());
  EXPECT_EQ(lines[0].digest, io::digest_of(std::as_bytes(std::span(content))));
}

TEST_F(LastSteps, WhatWasNotTakenIsNotInTheList) {
  begin();
  std::vector<SumLine> lines;
  session->tell_sums([&](const Sums& sums) { lines = sums.lines; });
  Task task = sent("content");
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::refused));
  session->sums()->finish();
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace rdcp::tree
