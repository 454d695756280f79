// Tests the common behaviour of all kinds of tasks, the names of directories, and lost streams.
#include <gmock/gmock.h>

#include "tests/tree/source/task_fixture.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using Tasks = TaskTest;

TEST_F(Tasks, AMessageNamesWhatATaskIsAbout) {
  begin();
  PackTask pack{batch_of({file("a", "1"), file("b", "2")})};
  pack.batch.settled = 1;
  EXPECT_EQ(subject_of(pack), "SRC/b") << "the first that the target has not answered for";
  EXPECT_EQ(subject_of(LostTask{1}), "stream 2") << "people count from 1";
  EXPECT_EQ(subject_of(OpenTask{std::make_shared<FileTransfer>(file("c", "3"))}), "SRC/c");
}

TEST_F(Tasks, OnlyAByteStreamCannotGoOverAnotherStream) {
  begin();
  open(file("stream", "bytes"), AckStatus::done, true);
  Task stream = take();
  EXPECT_FALSE(keep_for_another_stream(stream, fill_slot(stream), slot()));
  open(file("large", "bytes"));
  Task data = take();
  EXPECT_TRUE(keep_for_another_stream(data, fill_slot(data), slot()));
  Task pack = take_batch({file("small", "bytes")});
  EXPECT_TRUE(keep_for_another_stream(pack, fill_slot(pack), slot()));
}

TEST_F(Tasks, ALostStreamIsToldByItsIndexAndItsWorkIsFreeThen) {
  begin();
  Task pack = take_batch({file("a", "1")});
  session->plan().lose_stream(3, this);
  session->plan().give_back(std::move(pack), 3, this);
  Task lost = take();
  const FilledSlot filled = fill_slot(lost);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::lost);
  EXPECT_EQ(filled.frame.offset, 3u);
  EXPECT_TRUE(plan_waits());
  EXPECT_FALSE(answer(lost, filled, AckStatus::done));
  EXPECT_TRUE(std::holds_alternative<PackTask>(take()));
}

struct NamesTasks : TaskTest {
  void begin_names() {
    begin();
    auto walk = std::make_unique<NamesWalk>(root, choice, false, reporter);
    session->plan().set_last_names([walk = walk.get()](NamesBatch& names) { return walk->take(names); },
                                   false);
    session->set_names_walk(std::move(walk));
    session->plan().walk_finished();
  }
  NamesPage page(const FilledSlot& filled) {
    const auto read = read_names_page(payload(filled), AdmittedNames::all());
    EXPECT_TRUE(read);
    return read ? *read : NamesPage();
  }
  Choice choice;
};

TEST_F(NamesTasks, SumsComeFirstThenTheNamesOfWhatDiffers) {
  std::filesystem::create_directory(scratch / "d");
  write_file(scratch / "d/one", "");
  write_file(scratch / "d/two", "");
  begin_names();
  Task task = take();
  FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::names);
  const NamesPage sums = page(filled);
  ASSERT_EQ(sums.sums.size(), 2u);
  EXPECT_EQ(sums.sums[1].path, "dst/d");
  EXPECT_EQ(sums.sums[1].count, 2u);
  net::Verdicts differs;
  differs.set(1, 1);
  auto next = answer(task, filled, AckStatus::done, differs);
  ASSERT_TRUE(next);
  filled = fill_slot(*next);
  const NamesPage listed = page(filled);
  EXPECT_EQ(listed.names.path, "dst/d");
  EXPECT_THAT(listed.names.names, testing::UnorderedElementsAre("one", "two"));
  EXPECT_FALSE(answer(*next, filled, AckStatus::done));
  Work work;
  EXPECT_EQ(session->plan().take(work, this), Plan::Next::none);
}

TEST_F(NamesTasks, WhereNothingDiffersNoNamesAreSent) {
  write_file(scratch / "one", "");
  begin_names();
  Task task = take();
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::done));
}

TEST_F(NamesTasks, ARefusalEndsTheNames) {
  write_file(scratch / "one", "");
  begin_names();
  Task task = take();
  net::Verdicts differs;
  differs.set(0, 1);
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::refused, differs));
}

TEST_F(NamesTasks, AnEmptySourceDeletesNothing) {
  begin_names();
  Work work;
  EXPECT_EQ(session->plan().take(work, this), Plan::Next::none);
  EXPECT_NE(problems().find("SRC is empty"), std::string::npos) << problems();
}

}  // namespace
}  // namespace rdcp::tree
