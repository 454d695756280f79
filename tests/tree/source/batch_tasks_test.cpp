// Batches of small items: what is packed, what is asked first, and what counts.
#include "tests/tree/source/task_fixture.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using BatchTasks = TaskTest;

net::Verdicts verdicts_of(std::initializer_list<Verdict> verdicts) {
  net::Verdicts all;
  std::size_t at = 0;
  for (const Verdict verdict : verdicts) all.set(at++, static_cast<std::uint8_t>(verdict));
  return all;
}

TEST_F(BatchTasks, APackHasTheFilesAsTheyLand) {
  begin();
  Task task = take_batch({file("a", "first"), file("b", "second")});
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::archive);
  EXPECT_EQ(archived(filled), (std::map<std::string, std::string>{{"dst/a", "first"}, {"dst/b", "second"}}));
  EXPECT_FALSE(filled.read_anew) << "it is sent again as it was packed";
}

TEST_F(BatchTasks, OnlyWhatTheTargetTookCounts) {
  begin();
  Task taken = take_batch({file("a", "1234"), file("b", "56")});
  EXPECT_FALSE(answer(taken, fill_slot(taken), AckStatus::done));
  EXPECT_EQ(done().files, 2u);
  EXPECT_EQ(done().bytes, 6u);
  Task refused = take_batch({file("c", "7")});
  EXPECT_FALSE(answer(refused, fill_slot(refused), AckStatus::refused));
  EXPECT_EQ(done().files, 2u);
  EXPECT_EQ(done().bytes, 6u);
}

TEST_F(BatchTasks, WhatDoesNotFitGoesInTheNextRound) {
  begin();
  std::vector<Item> items;
  for (int i = 0; i < 10; ++i) items.push_back(file(std::to_string(i), std::string(10'000, 'x')));
  std::optional<Task> task = take_batch(std::move(items));
  std::set<std::string> sent;
  int rounds = 0;
  for (; task && rounds < 10; ++rounds) {
    const FilledSlot filled = fill_slot(*task);
    for (const auto& [path, content] : archived(filled)) EXPECT_TRUE(sent.insert(path).second) << path;
    task = answer(*task, filled, AckStatus::done);
  }
  EXPECT_EQ(sent.size(), 10u);
  EXPECT_GT(rounds, 1);
  EXPECT_EQ(done().files, 10u);
}

TEST_F(BatchTasks, AFileThatIsGoneIsToldAndTheOthersAreSent) {
  begin();
  const Item gone = file("gone", "x");
  std::filesystem::remove(scratch / "gone");
  Task task = take_batch({gone, file("there", "y")});
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(archived(filled).size(), 1u);
  EXPECT_NE(problems().find("SRC/gone"), std::string::npos) << problems();
  EXPECT_FALSE(answer(task, filled, AckStatus::done));
  EXPECT_EQ(done().files, 1u);
}

TEST_F(BatchTasks, WhereNothingCanBePackedNothingIsSent) {
  begin();
  const Item gone = file("gone", "x");
  std::filesystem::remove(scratch / "gone");
  Task task = take_batch({gone});
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.state, State::nothing);
  EXPECT_FALSE(answer(task, filled, AckStatus::refused));
  session->plan().walk_finished();
  session->plan().listed(top);
  EXPECT_TRUE(std::holds_alternative<PackTask>(take())) << "its directory waits for it no longer";
}

struct CompareTasks : TaskTest {
  CompareTasks() { job.settings.sync.enabled = true; }
  void begin_compared() {
    begin();
    session->plan().compare_first();
  }
};

TEST_F(CompareTasks, APageAsksAboutEachItem) {
  begin_compared();
  Task task = take_batch({file("a", "1"), file("b", "22")});
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::compare);
  EXPECT_EQ(filled.frame.file_id, std::get<CompareTask>(task).batch.serial);
  EXPECT_EQ(filled.frame.offset, session->plan().first_serial());
  const AdmittedNames all = AdmittedNames::all();
  QuestionReader reader(all);
  ASSERT_TRUE(reader.open(payload(filled)));
  Question question;
  ASSERT_TRUE(*reader.next(question));
  EXPECT_EQ(question.entry.path, "dst/a");
  ASSERT_TRUE(*reader.next(question));
  EXPECT_EQ(question.entry.size, 2u);
  EXPECT_FALSE(*reader.next(question));
}

TEST_F(CompareTasks, OnlyWhatDiffersIsPacked) {
  begin_compared();
  session->plan().count(2, 6);
  Task task = take_batch({file("same", "1234"), file("other", "56")});
  auto next =
      answer(task, fill_slot(task), AckStatus::done, verdicts_of({Verdict::equal, Verdict::different}));
  ASSERT_TRUE(next && std::holds_alternative<PackTask>(*next));
  EXPECT_EQ(archived(fill_slot(*next)), (std::map<std::string, std::string>{{"dst/other", "56"}}));
  EXPECT_EQ(session->plan().totals().files, 1u);
  EXPECT_EQ(session->plan().totals().bytes, 2u);
}

TEST_F(CompareTasks, WhereAllIsEqualTheBatchIsOver) {
  begin_compared();
  Task task = take_batch({file("same", "1234")});
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::done, verdicts_of({Verdict::equal})));
  session->plan().walk_finished();
  Work work;
  EXPECT_EQ(session->plan().take(work, this), Plan::Next::none);
}

TEST_F(CompareTasks, AQuestionThatTheTargetRefusesSendsNothing) {
  begin_compared();
  Task task = take_batch({file("a", "1")});
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::refused, verdicts_of({Verdict::different})));
}

TEST_F(CompareTasks, MoreThanAPageIsAskedInRounds) {
  begin_compared();
  std::vector<Item> items;
  for (std::size_t i = 0; i <= net::Verdicts::kCount; ++i) items.push_back(file(std::to_string(i), ""));
  Task task = take_batch(std::move(items));
  auto next = answer(task, fill_slot(task), AckStatus::done);
  ASSERT_TRUE(next && std::holds_alternative<CompareTask>(*next));
  EXPECT_EQ(std::get<CompareTask>(*next).batch.compared, net::Verdicts::kCount);
  EXPECT_FALSE(answer(*next, fill_slot(*next), AckStatus::done));
}

TEST_F(CompareTasks, ADryRunSendsNothing) {
  job.settings.sync.dry_run = true;
  begin_compared();
  Task task = take_batch({file("a", "1")});
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::done, verdicts_of({Verdict::different})));
}

}  // namespace
}  // namespace rdcp::tree
