#include "tree/protocol/unacknowledged.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

std::string all_of(const Unacknowledged& queue) {
  std::string all;
  for (const io::SecretText& message : queue.messages()) all += message.view();
  return all;
}

TEST(Unacknowledged, WhatWasAcknowledgedIsDropped) {
  Unacknowledged queue;
  for (const char* message : {"a", "b", "c"}) queue.add(std::string(message));
  EXPECT_TRUE(queue.acknowledge(0));
  EXPECT_EQ(all_of(queue), "abc");
  EXPECT_TRUE(queue.acknowledge(2));
  EXPECT_EQ(all_of(queue), "c");
  queue.add(std::string("d"));
  EXPECT_TRUE(queue.acknowledge(3));
  EXPECT_EQ(all_of(queue), "d");
  EXPECT_TRUE(queue.acknowledge(4));
  EXPECT_TRUE(queue.messages().empty());
  EXPECT_TRUE(queue.complete());
}

TEST(Unacknowledged, NobodyAcknowledgesMoreThanWasSentOrLessThanBefore) {
  Unacknowledged queue;
  for (const char* message : {"a", "b", "c"}) queue.add(std::string(message));
  EXPECT_FALSE(queue.acknowledge(4));
  EXPECT_TRUE(queue.acknowledge(2));
  EXPECT_FALSE(queue.acknowledge(1));
  EXPECT_FALSE(queue.acknowledge(~std::uint64_t{0}));
  EXPECT_EQ(all_of(queue), "c");
}

TEST(Unacknowledged, MoreThanThereIsRoomForIsNotKept) {
  Unacknowledged queue;
  queue.add(std::string(Unacknowledged::kBytesMax - 1, 'x'));
  queue.add(std::string(1, 'y'));
  EXPECT_TRUE(queue.complete());
  queue.add(std::string(1, 'z'));
  EXPECT_FALSE(queue.complete());
  EXPECT_TRUE(queue.messages().empty());
  EXPECT_TRUE(queue.acknowledge(3));
  EXPECT_FALSE(queue.acknowledge(4));
}

}  // namespace
}  // namespace rdcp::tree
