#include "io/digest_set.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::io {
namespace {

TEST(DigestSet, HasWhatWasAddedUntilItIsRemoved) {
  DigestSet set(2);
  EXPECT_FALSE(set.has("a"));
  set.remove("a");
  EXPECT_TRUE(set.add("a"));
  EXPECT_TRUE(set.add("a"));
  EXPECT_TRUE(set.add(std::string(1 << 20, 'b')));
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.has("a"));
  set.remove("a");
  EXPECT_FALSE(set.has("a"));
  EXPECT_TRUE(set.has(std::string(1 << 20, 'b')));
  EXPECT_FALSE(set.has_overflowed());
}

TEST(DigestSet, SaysThatThereWasNoRoom) {
  DigestSet set(2);
  EXPECT_TRUE(set.add("a"));
  EXPECT_TRUE(set.add("b"));
  EXPECT_TRUE(set.add("b"));
  EXPECT_FALSE(set.has_overflowed());
  EXPECT_FALSE(set.add("c"));
  EXPECT_FALSE(set.has("c"));
  set.remove("a");
  EXPECT_TRUE(set.has_overflowed());
}

}  // namespace
}  // namespace rdcp::io
