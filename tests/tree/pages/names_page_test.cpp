#include "tree/pages/names_page.h"
#include "tests/tree/meta/own_path.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rdcp::tree {
namespace {

class NamesPageTest : public ::testing::Test {
 protected:
  std::array<std::byte, 4096> slot_;
};

TEST_F(NamesPageTest, SumsComeBackAsTheyWere) {
  NamesWriter writer;
  writer.begin_sums(slot_);
  NameSum sum;
  sum.add("a");
  sum.add("b");
  ASSERT_TRUE(writer.add(SummedDirectory{own(""), sum.count, sum.digest.value()}));
  ASSERT_TRUE(writer.add(SummedDirectory{own("d/e"), 0, {}}));
  const auto page = read_names_page(std::span(slot_).first(writer.finish()), AdmittedNames::all());
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->sums.size(), 2u);
  EXPECT_EQ(page->sums[0].count, 2u);
  EXPECT_EQ(page->sums[0].digest, sum.digest.value());
  EXPECT_EQ(page->sums[1].path, "d/e");
}

TEST_F(NamesPageTest, ASumTellsOrderFromNothingAndNamesFromOthers) {
  NameSum one, other, third;
  for (const char* name : {"a", "b", "c"}) one.add(name);
  for (const char* name : {"c", "a", "b"}) other.add(name);
  for (const char* name : {"c", "a", "d"}) third.add(name);
  EXPECT_EQ(one, other);
  EXPECT_FALSE(one == third);
}

TEST_F(NamesPageTest, NamesComeInPartsThatAreDisjointAndWhole) {
  constexpr std::uint32_t kParts = 4;
  std::size_t seen = 0;
  for (std::uint32_t part = 0; part < kParts; ++part) {
    NamesWriter writer;
    ASSERT_TRUE(writer.begin_names(slot_, "d", kParts, part));
    for (int i = 0; i < 100; ++i) {
      const std::string name = "name" + std::to_string(i);
      if (part_of(name, kParts) != part) continue;
      ASSERT_TRUE(writer.add(name));
    }
    const auto page = read_names_page(std::span(slot_).first(writer.finish()), AdmittedNames::all());
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(page->names.path, "d");
    seen += page->names.names.size();
  }
  EXPECT_EQ(seen, 100u);
}

TEST_F(NamesPageTest, WhatDoesNotFitIsSaid) {
  NamesWriter writer;
  ASSERT_TRUE(writer.begin_names(std::span(slot_).first(40), "d", 1, 0));
  EXPECT_TRUE(writer.add("short"));
  EXPECT_FALSE(writer.add(std::string(40, 'x')));
}

TEST_F(NamesPageTest, NamesThatAreNoneAreRefused) {
  for (const std::string name : {"", ".", "..", "a/b"}) {
    NamesWriter writer;
    ASSERT_TRUE(writer.begin_names(slot_, "d", 1, 0));
    ASSERT_TRUE(writer.add(name));
    EXPECT_FALSE(read_names_page(std::span(slot_).first(writer.finish()), AdmittedNames::all()).ok()) << name;
  }
  NamesWriter writer;
  ASSERT_TRUE(writer.begin_names(slot_, "../d", 1, 0));
  EXPECT_FALSE(read_names_page(std::span(slot_).first(writer.finish()), AdmittedNames::all()).ok());
  ASSERT_TRUE(writer.begin_names(slot_, "d", 2, 2));
  EXPECT_FALSE(read_names_page(std::span(slot_).first(writer.finish()), AdmittedNames::all()).ok());
}

TEST_F(NamesPageTest, ANameOfAnotherPartIsRefused) {
  const std::string name = "name";
  NamesWriter writer;
  ASSERT_TRUE(writer.begin_names(slot_, "d", 2, 1 - part_of(name, 2)));
  ASSERT_TRUE(writer.add(name));
  EXPECT_FALSE(read_names_page(std::span(slot_).first(writer.finish()), AdmittedNames::all()).ok());
}

TEST_F(NamesPageTest, EveryTruncationOfSumsIsRefused) {
  NamesWriter writer;
  writer.begin_sums(slot_);
  ASSERT_TRUE(writer.add(SummedDirectory{own("d"), 3, {}}));
  const auto page = std::span<const std::byte>(slot_).first(writer.finish());
  for (std::size_t length = 0; length < page.size(); ++length) {
    EXPECT_FALSE(read_names_page(page.first(length), AdmittedNames::all()).ok()) << length;
  }
}

}  // namespace
}  // namespace rdcp::tree
