// The opening of a large file.
#include "tests/tree/source/task_fixture.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using OpenTasks = TaskTest;

TEST_F(OpenTasks, TheFrameSaysWhatComes) {
  begin();
  Task task = take_large(file("large", std::string(100'000, 'x')));
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::open);
  EXPECT_EQ(filled.frame.file_id, std::get<OpenTask>(task).file->id());
  EXPECT_EQ(filled.frame.offset, 100'000u);
  EXPECT_EQ(filled.frame.flags, 0);
  EXPECT_NE(filled.frame.extra, io::Digest{}) << "by which a later run knows the file again";
  EXPECT_EQ(archived(filled), (std::map<std::string, std::string>{{"dst/large", ""}}));
  EXPECT_EQ(session->totals().progress().path, "SRC/large");
}

TEST_F(OpenTasks, AnotherStateOfTheFileHasAnotherToken) {
  begin();
  Task first = take_large(file("large", "x"));
  const io::Digest before = fill_slot(first).frame.extra;
  Task second = take_large(file("large", "xy"));
  EXPECT_NE(fill_slot(second).frame.extra, before);
}

TEST_F(OpenTasks, HolesAreToldUnlessTheyAreSent) {
  const auto sparse = [&] {
    const io::Fd fd(::open((scratch / "sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::ftruncate(fd.get(), 1 << 20), 0);
    return item("sparse");
  };
  begin();
  Task task = take_large(sparse());
  EXPECT_EQ(fill_slot(task).frame.flags, net::kFlagSparse);
  terms.sends_holes = true;
  begin();
  Task to_device = take_large(sparse());
  EXPECT_EQ(fill_slot(to_device).frame.flags, 0);
}

TEST_F(OpenTasks, WhatCannotBeOpenedIsToldAndItsDirectoryGoesOn) {
  begin();
  const Item gone = file("gone", "x");
  std::filesystem::remove(scratch / "gone");
  session->plan().listed(top);
  Task task = take_large(gone);
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.state, State::failed);
  EXPECT_NE(problems().find("SRC/gone"), std::string::npos);
  EXPECT_FALSE(answer(task, filled, AckStatus::refused));
  EXPECT_TRUE(std::holds_alternative<PackTask>(take())) << "the finish of its directory";
}

TEST_F(OpenTasks, WhatIsNoFileAnyMoreIsTold) {
  begin();
  const Item was = file("name", "x");
  std::filesystem::remove(scratch / "name");
  std::filesystem::create_directory(scratch / "name");
  Task task = take_large(was);
  EXPECT_EQ(fill_slot(task).state, State::failed);
  EXPECT_NE(problems().find("is no longer a file"), std::string::npos) << problems();
}

TEST_F(OpenTasks, ASymlinkThatTookTheFilesPlaceIsNotFollowed) {
  begin();
  write_file(scratch / "secret", "secret");
  const Item was = file("name", "x");
  std::filesystem::remove(scratch / "name");
  std::filesystem::create_symlink("secret", scratch / "name");
  Task task = take_large(was);
  EXPECT_EQ(fill_slot(task).state, State::failed);
}

TEST_F(OpenTasks, TheAnswerSaysWhatIsAskedAboutFirst) {
  begin();
  open(file("plain", std::string(1000, 'x')));
  EXPECT_TRUE(std::holds_alternative<DataTask>(take()));
  open(file("old", std::string(1000, 'x')), AckStatus::has_basis);
  const Task probe = take();
  EXPECT_EQ(std::get<ProbeTask>(probe).asked, Spans::probe);
  open(file("like", std::string(1000, 'x')), AckStatus::has_like);
  const Task like = take();
  EXPECT_EQ(std::get<ProbeTask>(like).asked, Spans::like);
  open(file("part", std::string(1000, 'x')), AckStatus::has_part);
  EXPECT_TRUE(std::holds_alternative<AskTask>(take()));
}

TEST(SlowStreams, OneThatNothingIsKnownToBoundIsNone) {
  EXPECT_FALSE(is_slower_than_a_writer(std::nullopt));
  EXPECT_FALSE(is_slower_than_a_writer(2.5e9));
  EXPECT_TRUE(is_slower_than_a_writer(1e9));
}

TEST_F(OpenTasks, WhatOneWriterMustWriteComesOverAllStreamsWhereOneIsSlower) {
  for (const bool is_slower : {false, true}) {
    begin();
    context->needs_all_streams = is_slower;
    const auto large = open(file("large", std::string(3 * kSlotBytes, 'x')), AckStatus::in_turn);
    take();
    Work work;
    const int another = 0;
    const auto next = session->plan().take(work, &another);
    EXPECT_EQ(next, is_slower ? Plan::Next::work : Plan::Next::wait);
    EXPECT_EQ(large->belongs_to(this), !is_slower);
  }
}

TEST_F(OpenTasks, ARefusedNameIsNoNameToBeLinkedTo) {
  begin();
  Item first = file("first", "x");
  std::filesystem::create_hard_link(scratch / "first", scratch / "second");
  first.status = status_of(scratch / "first");
  Item second = item("second");
  second.kind = Item::Kind::hard_link;
  ASSERT_TRUE(session->plan().linked().is_first(first));
  session->plan().linked().add(second);
  const auto refused = open(first, AckStatus::refused);
  EXPECT_FALSE(refused->opened().fd) << "nothing of it is read any more";
  session->plan().walk_finished();
  const Task next = take();
  ASSERT_TRUE(std::holds_alternative<PackTask>(next));
  EXPECT_EQ(std::get<PackTask>(next).batch.items.at(0).kind, Item::Kind::entry);
}

TEST_F(OpenTasks, LargeFilesAreComparedFirstWithChecksum) {
  job.settings.checksum = true;
  begin();
  Task task = take_large(file("large", std::string(100'000, 'x')));
  FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.flags, net::kFlagCompare);
  // The target has none of its size: it is opened again, and not compared any more.
  EXPECT_FALSE(answer(task, filled, AckStatus::unsupported));
  Task again = take();
  filled = fill_slot(again);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::open);
  EXPECT_EQ(filled.frame.flags, 0);
}

TEST_F(OpenTasks, WhatComesAgainIsStillOpen) {
  begin();
  Task task = take_large(file("large", "content"));
  (void)fill_slot(task);
  std::filesystem::remove(scratch / "large");
  EXPECT_TRUE(fill_slot(task).is_ready()) << "its stream was lost, the file is the same";
}

TEST_F(OpenTasks, OfWhatWasOpenAlreadyTheModeAndTimeAreNew) {
  terms.new_mode = 0640;
  begin();
  write_file(scratch / "given", "content");
  root.single = true;
  root.opened.reset(::open((scratch / "given").c_str(), O_RDONLY | O_CLOEXEC));
  Item given;
  given.directory = top;
  OpenedFile opened;
  opened.fd.reset(::fcntl(root.opened.get(), F_DUPFD_CLOEXEC, 3));
  session->plan().add(std::make_shared<FileTransfer>(given, std::move(opened), true));
  Task task = take();
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.offset, kUnknownSize);
  (void)archived(filled);
  EXPECT_EQ(entry.mode, 0640u);
  EXPECT_EQ(entry.path, "dst");
}

}  // namespace
}  // namespace rdcp::tree
