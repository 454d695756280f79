#include "net/crypto/set_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::net {
namespace {

Sha256 item(int number) {
  const std::string text = "item " + std::to_string(number);
  return sha256_of({std::as_bytes(std::span(text))});
}

SetHash hash_of(const std::vector<int>& numbers) {
  SetHash hash;
  for (const int number : numbers) hash.add(item(number));
  return hash;
}

std::vector<Sha256> items(int first, int count) {
  std::vector<Sha256> all;
  for (int i = 0; i < count; ++i) all.push_back(item(first + i));
  return all;
}

// FIPS 180-4's example for "abc".
TEST(Sha256, IsThatOfTheStandardHoweverItIsCut) {
  const std::string text = "abc";
  const auto bytes = std::as_bytes(std::span(text));
  const Sha256 whole = sha256_of({bytes});
  EXPECT_EQ(whole[0], std::byte{0xba});
  EXPECT_EQ(whole[1], std::byte{0x78});
  EXPECT_EQ(whole[31], std::byte{0xad});
  EXPECT_EQ(sha256_of({bytes.first(1), {}, bytes.subspan(1)}), whole);
  EXPECT_NE(sha256_of({bytes.first(2)}), whole);
}

TEST(SetHash, OrderDoesNotMatterAndEverythingElseDoes) {
  EXPECT_EQ(hash_of({1, 2, 3}), hash_of({3, 1, 2}));
  EXPECT_NE(hash_of({1, 2, 3}), hash_of({1, 2}));
  EXPECT_NE(hash_of({1, 2, 3}), hash_of({1, 2, 4}));
  EXPECT_NE(hash_of({1, 2, 2}), hash_of({1, 2}));
  EXPECT_NE(hash_of({1}), SetHash());
}

TEST(SetHash, GoesThroughBytes) {
  EXPECT_EQ(SetHash::of_bytes(hash_of({5, 6}).bytes()), hash_of({5, 6}));
  EXPECT_EQ(SetHash().bytes(), SetHash::Bytes{});
}

TEST(DifferBySome, FindsWhichItemsAreThereBesides) {
  const SetHash less = hash_of({1, 2});
  EXPECT_TRUE(differ_by_some(less, less, {}));
  EXPECT_TRUE(differ_by_some(less, less, items(10, 40)));
  EXPECT_TRUE(differ_by_some(less, hash_of({1, 2, 10}), items(10, 40)));
  EXPECT_TRUE(differ_by_some(less, hash_of({49, 1, 17, 2, 12}), items(10, 40)));
  SetHash all = less;
  for (const Sha256& each : items(10, static_cast<int>(kDifferingMax))) all.add(each);
  EXPECT_TRUE(differ_by_some(less, all, items(10, static_cast<int>(kDifferingMax))));
}

TEST(DifferBySome, NothingElsePasses) {
  const SetHash less = hash_of({1, 2});
  EXPECT_FALSE(differ_by_some(less, hash_of({1, 2, 3}), {}));
  EXPECT_FALSE(differ_by_some(less, hash_of({1, 2, 3}), items(10, 40)));
  EXPECT_FALSE(differ_by_some(less, hash_of({1, 2, 10, 10}), items(10, 40)));  // the same one twice
  EXPECT_FALSE(differ_by_some(less, hash_of({1, 10}), items(10, 40)));         // one is missing
  EXPECT_FALSE(differ_by_some(less, less, items(10, static_cast<int>(kDifferingMax) + 1)));
}

}  // namespace
}  // namespace rdcp::net
