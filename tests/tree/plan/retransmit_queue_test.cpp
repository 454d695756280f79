// Tests the work that was in flight on lost streams.
#include "tree/plan/retransmit_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace rdcp::tree {
namespace {

Task batch_of(std::size_t items) {
  PackTask task;
  task.batch.items.resize(items);
  return task;
}

std::size_t stream_of(const std::optional<Work>& work) {
  return std::get<LostTask>(work->task).stream;
}

TEST(RetransmitQueue, TheTargetIsToldOfEachLostStreamOnce) {
  RetransmitQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.lose_stream(2);
  queue.lose_stream(5);
  EXPECT_FALSE(queue.empty());
  const auto first = queue.take();
  EXPECT_EQ(stream_of(first), 2u);
  EXPECT_FALSE(first->again) << "that is said for the first time";
  EXPECT_EQ(stream_of(queue.take()), 5u);
  EXPECT_FALSE(queue.take());
}

TEST(RetransmitQueue, NothingIsSentAgainBeforeTheTargetHasAnswered) {
  RetransmitQueue queue;
  queue.lose_stream(0);
  queue.add(0, batch_of(3));
  (void)queue.take();
  EXPECT_FALSE(queue.take()) << "it could meet itself";
  queue.confirm(0);
  const auto work = queue.take();
  ASSERT_TRUE(work);
  EXPECT_TRUE(work->again);
  EXPECT_EQ(std::get<PackTask>(work->task).batch.items.size(), 3u);
  EXPECT_TRUE(queue.empty());
}

TEST(RetransmitQueue, WhatComesAfterTheAnswerIsReadyAtOnce) {
  RetransmitQueue queue;
  queue.lose_stream(0);
  (void)queue.take();
  queue.confirm(0);
  EXPECT_TRUE(queue.empty());
  queue.add(0, batch_of(1));
  EXPECT_FALSE(queue.empty());
  EXPECT_TRUE(queue.take());
}

TEST(RetransmitQueue, EachStreamIsAnsweredForByItself) {
  RetransmitQueue queue;
  queue.lose_stream(0);
  queue.lose_stream(1);
  queue.add(0, batch_of(1));
  queue.add(1, batch_of(2));
  (void)queue.take();
  (void)queue.take();
  queue.confirm(1);
  EXPECT_EQ(std::get<PackTask>(queue.take()->task).batch.items.size(), 2u);
  EXPECT_FALSE(queue.take());
  EXPECT_FALSE(queue.empty()) << "the other stream is not answered for";
}

// The answer to a `lost` frame may get lost itself, with the stream that it was to come over.
TEST(RetransmitQueue, AQuestionThatWasLostItselfIsAskedAgain) {
  RetransmitQueue queue;
  queue.lose_stream(0);
  (void)queue.take();
  queue.lose_stream(1);
  queue.add(1, LostTask{0});
  (void)queue.take();
  queue.confirm(1);
  const auto work = queue.take();
  EXPECT_EQ(stream_of(work), 0u);
  EXPECT_FALSE(queue.empty());
  queue.confirm(0);
  EXPECT_TRUE(queue.empty());
}

// A slot at a target that writes in order must not be taken by what waits there for what has no slot.
TEST(RetransmitQueue, InTurnIsWhatTheTargetHasAllBefore) {
  OpenedFile opened;
  opened.fd.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  opened.size = 5 * io::kPageBytes;
  const auto file = std::make_shared<FileTransfer>(Item{});
  file->set_opened(std::move(opened), false);
  OpenAnswer answer;
  answer.usable = true;
  file->begin(answer, 0);
  const auto page_of = [](const std::optional<Work>& work) {
    return std::get<DataTask>(work->task).extent.offset / io::kPageBytes;
  };
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(file->take(nullptr, {.extent_bytes = io::kPageBytes, .by_kernel_bytes = io::kPageBytes}));
  const auto settle = [&](std::uint64_t pages) {
    PieceAnswer piece;
    piece.settled_bytes = pages * io::kPageBytes;
    file->settle_extent(piece);
  };
  RetransmitQueue queue;
  queue.lose_stream(0);
  for (const std::uint64_t page : {4, 1, 3}) {
    queue.add(0, DataTask{file, {page * io::kPageBytes, io::kPageBytes}});
  }
  EXPECT_EQ(stream_of(queue.take(true)), 0u) << "an answer to this waits for nothing";
  queue.confirm(0);
  EXPECT_FALSE(queue.take(true)) << "what lies before it is under way elsewhere";
  settle(1);
  EXPECT_EQ(page_of(queue.take(true)), 1u);
  EXPECT_FALSE(queue.take(true));
  EXPECT_EQ(page_of(queue.take()), 4u) << "the first one, for a slot that need not be kept";
  settle(2);
  EXPECT_EQ(page_of(queue.take(true)), 3u);
  queue.add(0, CommitTask{.file = file});
  EXPECT_TRUE(queue.take(true)) << "a commit waits for nothing";
}

}  // namespace
}  // namespace rdcp::tree
