// Extents of large files.
#include <sys/stat.h>

#include "tests/tree/source/task_fixture.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;

struct ExtentTasks : TaskTest {
  static std::string content_of_length(std::size_t length) {
    std::string content(length, '\0');
    for (std::size_t i = 0; i < length; ++i) content[i] = static_cast<char>('a' + i / 1000 % 26);
    return content;
  }
};

TEST_F(ExtentTasks, AChunkHasTheBytesOfItsPlace) {
  begin();
  const std::string content = content_of_length(100'000);
  const auto large = open(file("large", content));
  Task first = take(), second = take();
  const FilledSlot filled = fill_slot(second);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::data);
  EXPECT_EQ(filled.frame.file_id, large->id());
  EXPECT_EQ(filled.frame.offset, kSlotBytes);
  EXPECT_EQ(text(filled), content.substr(kSlotBytes));
  EXPECT_EQ(fill_slot(first).length, kSlotBytes);
}

TEST_F(ExtentTasks, AnAnsweredChunkCountsAndTheLastOneIsFollowedByTheCommit) {
  begin();
  open(file("large", content_of_length(100'000)));
  Task first = take(), second = take();
  EXPECT_FALSE(answer(second, fill_slot(second), AckStatus::done));
  EXPECT_EQ(done().bytes, 100'000u - kSlotBytes);
  EXPECT_TRUE(plan_waits());
  const auto next = answer(first, fill_slot(first), AckStatus::done);
  ASSERT_TRUE(next && std::holds_alternative<CommitTask>(*next));
  EXPECT_EQ(done().bytes, 100'000u);
}

TEST_F(ExtentTasks, ARefusedChunkAbandonsTheFile) {
  begin();
  open(file("large", content_of_length(100'000)));
  Task first = take(), second = take();
  EXPECT_FALSE(answer(first, fill_slot(first), AckStatus::refused));
  const Task next = next_after(second, fill_slot(second), AckStatus::done);
  EXPECT_TRUE(std::holds_alternative<AbandonTask>(next));
  EXPECT_EQ(done().files, 0u);
}

TEST_F(ExtentTasks, ADamagedChunkIsReadAnew) {
  begin();
  const std::string path = scratch / "large";
  open(file("large", std::string(1000, 'a')));
  Task task = take();
  const FilledSlot filled = fill_slot(task);
  EXPECT_TRUE(filled.read_anew);
  std::ranges::fill(slot(), std::byte{0});
  EXPECT_EQ(text(fill_slot(task)), std::string(1000, 'a'));
}

TEST_F(ExtentTasks, AFileThatBecameShorterEndsThere) {
  begin();
  const auto large = open(file("large", content_of_length(100'000)));
  Task first = take(), second = take();
  ASSERT_EQ(::truncate((scratch / "large").c_str(), 1000), 0);
  const FilledSlot filled = fill_slot(first);
  EXPECT_EQ(filled.length, 1000u);
  EXPECT_EQ(fill_slot(second).state, State::nothing);
  EXPECT_EQ(large->length(), 1000u);
  EXPECT_TRUE(large->ended_early());
}

TEST_F(ExtentTasks, AStreamIsReadInOrderToItsEnd) {
  begin();
  const auto endless = open(file("stream", "some bytes"), AckStatus::done, true);
  Task first = take();
  const FilledSlot filled = fill_slot(first);
  EXPECT_EQ(text(filled), "some bytes");
  EXPECT_EQ(filled.frame.offset, 0u);
  EXPECT_FALSE(filled.read_anew) << "a pipe gives nothing twice";
  EXPECT_TRUE(std::holds_alternative<CommitTask>(next_after(first, filled, AckStatus::done)));
  EXPECT_EQ(endless->length(), 10u);
  EXPECT_EQ(context->endless_reads, 0u);
}

TEST_F(ExtentTasks, AFifoIsReadWhenItHasAWriter) {
  begin();
  const std::string path = scratch / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  root.single = true;
  root.waits_for_writer = true;
  root.opened.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Item given;
  given.directory = top;
  OpenedFile opened;
  opened.fd.reset(::fcntl(root.opened.get(), F_DUPFD_CLOEXEC, 3));
  session->plan().add(std::make_shared<FileTransfer>(given, std::move(opened), true));
  Task task = take();
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::done));
  task = take();
  const io::Fd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  ASSERT_EQ(::write(writer.get(), "late", 4), 4);
  const_cast<io::Fd&>(writer).reset();
  EXPECT_EQ(text(fill_slot(task)), "late");
  EXPECT_EQ(context->endless_reads, 0u);
}

struct CopyRangeTasks : ExtentTasks {
  CopyRangeTasks() { job.streams.connect = Connect::in_process; }
};

TEST_F(CopyRangeTasks, TheFrameNamesDescriptorAndLength) {
  begin();
  const auto large = open(file("large", content_of_length(100'000)));
  Task task = take();
  ASSERT_TRUE(std::holds_alternative<CopyRangeTask>(task));
  const FilledSlot filled = fill_slot(task);
  EXPECT_EQ(filled.frame.kind, net::FrameKind::copy_range);
  EXPECT_EQ(filled.length, 0u);
  EXPECT_EQ(filled.moves, 100'000u) << "--bwlimit counts what the kernel moves";
  std::int64_t fd = -1;
  std::uint64_t length = 0;
  std::memcpy(&fd, filled.frame.extra.bytes.data(), sizeof fd);
  std::memcpy(&length, filled.frame.extra.bytes.data() + sizeof fd, sizeof length);
  EXPECT_EQ(fd, large->opened().fd.get());
  EXPECT_EQ(length, 100'000u);
  EXPECT_TRUE(std::holds_alternative<CommitTask>(next_after(task, filled, AckStatus::done)));
  EXPECT_EQ(large->digest(), io::FileDigest().value()) << "what the kernel copied has none";
}

TEST_F(CopyRangeTasks, WhatTheKernelCannotCopyIsSent) {
  begin();
  open(file("large", content_of_length(1000)));
  Task task = take();
  EXPECT_FALSE(answer(task, fill_slot(task), AckStatus::unsupported));
  Task instead = take();
  EXPECT_EQ(fill_slot(instead).frame.kind, net::FrameKind::data);
  EXPECT_EQ(done().bytes, 0u);
}

TEST_F(CopyRangeTasks, WhatIsVerifiedIsNotCopiedByTheKernel) {
  job.settings.verify = true;
  begin();
  open(file("large", content_of_length(1000)));
  EXPECT_TRUE(std::holds_alternative<DataTask>(take()));
}

}  // namespace
}  // namespace rdcp::tree
