#include "tree/select/filter.h"

#include <gtest/gtest.h>

#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

FilterRule rule(const char* pattern, bool include, FilterSides sides = FilterSides::unstated,
                bool negated = false) {
  return {.pattern = pattern, .include = include, .negated = negated, .sides = sides};
}

Filter filter(const std::vector<FilterRule>& rules, bool delete_excluded = false) {
  auto made = Filter::create(rules, delete_excluded);
  EXPECT_TRUE(made.ok());
  return made.ok() ? *made : Filter();
}

TEST(Filter, WithoutRulesNothingIsHidden) {
  EXPECT_TRUE(Filter().empty());
  EXPECT_FALSE(Filter().hides("a", false));
  EXPECT_FALSE(Filter().protects("a", true));
}

TEST(Filter, TheFirstMatchDecides) {
  const Filter some = filter({rule("keep.o", true), rule("*.o", false), rule("x.o", true)});
  EXPECT_FALSE(some.hides("keep.o", false));
  EXPECT_TRUE(some.hides("d/x.o", false));
  EXPECT_FALSE(some.hides("x.c", false));
}

TEST(Filter, TheRootItselfTakesPart) {
  EXPECT_FALSE(filter({rule("**", false), rule("x", false, FilterSides::both, true)}).hides("", true));
}

TEST(Filter, ANegatedRuleCountsForTheOthers) {
  const Filter only_o = filter({rule("*/", true), rule("*.o", false, FilterSides::unstated, true)});
  EXPECT_FALSE(only_o.hides("d", true));
  EXPECT_FALSE(only_o.hides("d/x.o", false));
  EXPECT_TRUE(only_o.hides("d/x.c", false));
  EXPECT_TRUE(filter({rule("d/", false, FilterSides::both, true)}).hides("d", false));
}

TEST(Filter, SidesAreAskedApart) {
  const auto at = [](FilterSides sides, bool delete_excluded) {
    const Filter some = filter({rule("x", false, sides)}, delete_excluded);
    return std::pair(some.hides("x", false), some.protects("x", false));
  };
  using Answers = std::pair<bool, bool>;
  EXPECT_EQ(at(FilterSides::unstated, false), Answers(true, true));
  EXPECT_EQ(at(FilterSides::unstated, true), Answers(true, false));
  for (const bool delete_excluded : {false, true}) {
    EXPECT_EQ(at(FilterSides::source, delete_excluded), Answers(true, false));
    EXPECT_EQ(at(FilterSides::target, delete_excluded), Answers(false, true));
    EXPECT_EQ(at(FilterSides::both, delete_excluded), Answers(true, true));
  }
}

TEST(Filter, ARuleOfOneSideDoesNotStandInTheWayOfTheOther) {
  const Filter some = filter({rule("x", true, FilterSides::target), rule("*", false)});
  EXPECT_TRUE(some.hides("x", false));
  EXPECT_FALSE(some.protects("x", false));
  EXPECT_TRUE(some.protects("y", false));
}

TEST(Filter, WhatAPeerSendsIsBounded) {
  const std::vector<FilterRule> longest(kFilterBytesMax / Pattern::kBytesMax,
                                        rule(std::string(Pattern::kBytesMax, 'a').c_str(), false));
  EXPECT_TRUE(Filter::create(longest).ok());
  auto too_long = longest;
  too_long.push_back(rule("a", false));
  EXPECT_FALSE(Filter::create(too_long).ok());
  EXPECT_FALSE(Filter::create(std::vector<FilterRule>(kFilterRulesMax + 1, rule("a", false))).ok());
  EXPECT_FALSE(Filter::create({rule("", false)}).ok());
  EXPECT_FALSE(Filter::create({rule("a", false, static_cast<FilterSides>(4))}).ok());
}

TEST(Filter, ASelectionCrossesTheWire) {
  Selection sent;
  sent.rules = {rule("*.o", false), rule("/d/", true, FilterSides::source, true)};
  sent.delete_excluded = true;
  sent.one_file_system = true;
  sent.size_min = 1;
  sent.size_max = 2;
  sent.named_only = true;
  Selection got;
  const std::string bytes = encode_fields(sent);
  ASSERT_TRUE(decode_fields(bytes, got));
  EXPECT_EQ(got.rules, sent.rules);
  EXPECT_TRUE(got.delete_excluded && got.one_file_system && got.named_only);
  EXPECT_FALSE(got.sends_size(0) || got.sends_size(3));
  EXPECT_TRUE(got.sends_size(1) && got.sends_size(2));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_fields(std::string_view(bytes).substr(0, length), got)) << length;
  }
}

}  // namespace
}  // namespace rdcp::tree
