#include "tree/select/filter_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rdcp::tree {
namespace {

bool matches(std::string_view text, std::string_view path, bool is_directory = false) {
  const auto pattern = Pattern::create(text);
  EXPECT_TRUE(pattern.ok()) << text;
  return pattern.ok() && pattern->matches(path, is_directory);
}

void expect(std::string_view text, const std::vector<std::string>& fitting,
            const std::vector<std::string>& others, bool directories = false) {
  for (const std::string& path : fitting)
    EXPECT_TRUE(matches(text, path, directories)) << text << " " << path;
  for (const std::string& path : others)
    EXPECT_FALSE(matches(text, path, directories)) << text << " " << path;
}

TEST(FilterPattern, WithoutASlashTheLastNameCounts) {
  expect("foo", {"foo", "a/foo", "a/b/foo"}, {"xfoo", "foox", "foo/a", "a/xfoo", "fo"});
  expect("f?o", {"foo", "a/f.o"}, {"fo", "f/o", "fooo", "foo/a"});
  expect("*.o", {".o", "a.o", "x/a.o"}, {"a.oo", "a.o/b", "o"});
}

TEST(FilterPattern, WithASlashTheEndOfThePathCounts) {
  expect("b/foo", {"b/foo", "a/b/foo"}, {"foo", "xb/foo", "b/foo/c", "b/x/foo"});
  expect("b*/f?o", {"b/foo", "a/bb/f.o", "a/b/b/foo"}, {"foo", "a/foo", "b/x/foo", "b/foo/c"});
}

TEST(FilterPattern, ALeadingSlashAnchors) {
  expect("/foo", {"foo"}, {"a/foo", "foo/a", "fo"});
  expect("/a/f*", {"a/f", "a/foo"}, {"f", "a/b/foo", "x/a/foo", "a/f/x"});
  expect("/*/foo", {"a/foo"}, {"foo", "a/b/foo"});
}

TEST(FilterPattern, ATrailingSlashMeansDirectories) {
  expect("foo/", {"foo", "a/foo"}, {"foo/a"}, true);
  expect("foo/", {}, {"foo", "a/foo"}, false);
  expect("/*/", {"a"}, {"a/b"}, true);
  expect("/", {}, {"a", "a/b"}, true);
}

TEST(FilterPattern, TwoStarsCrossSlashes) {
  expect("/a/**", {"a/b", "a/b/c"}, {"a", "b/a/c"});
  expect("a/**/c", {"a/b/c", "a/x/y/c", "q/a/b/c"}, {"a/c", "xa/b/c", "a/b/c/d"});
  expect("**/c", {"c", "a/c", "a/b/c"}, {"xc", "a/xc"});
  expect("/**/c", {"a/c", "a/b/c"}, {"c"});
  expect("a**c", {"ac", "a/c", "abc", "x/a/b/c", "x/ac"}, {"xac", "a/cx"});
  expect("**a", {"a", "xa", "x/xa", "x/a"}, {"ax", "a/x"});
  expect("**", {"a", "a/b"}, {});
}

TEST(FilterPattern, ThreeStarsTakeTheDirectoryAlong) {
  expect("/d/***", {"d", "d/a", "d/a/b"}, {"x/d", "dd"}, true);
  expect("/d/***", {"d/a"}, {"d"}, false);
  expect("d/***", {"d", "x/d", "x/d/a"}, {"xd"}, true);
}

TEST(FilterPattern, StarsAreLengthenedAsFarAsItTakes) {
  expect("*ab*ab", {"abab", "aabab", "abxabab", "xabyabzab"}, {"ab", "abba"});
  expect("/*a/*b", {"a/b", "xa/xb", "aa/ab"}, {"ab", "a/x/b", "a/ba"});
  expect("a*b/**c", {"ab/c", "a1/aab/zc", "x/a1b/y/c"}, {"a1/xb/zc", "a/b/c"});
  expect("/**a*b/c", {"ab/c", "x/ab/aab/c", "a/ab/c"}, {"a/b/c", "ab/cc"});
}

TEST(FilterPattern, Sets) {
  expect("[ab]x", {"ax", "bx", "q/ax"}, {"cx", "x", "abx", "[ab]x"});
  expect("[!ab]x", {"cx", "!x"}, {"ax", "bx", "/x", "x"});
  expect("[^ab]x", {"cx", "^x"}, {"ax"});
  expect("[a-c]", {"a", "b", "c"}, {"d", "-"});
  expect("[a-c-e]", {"b", "-", "e"}, {"d"});
  expect("[]a]", {"]", "a"}, {"[]a]"});
  expect("[!]a]", {"b"}, {"]", "a"});
  expect("[a-]", {"a", "-"}, {"b"});
  expect("[-a]", {"a", "-"}, {"b"});
  expect("[\\]]", {"]"}, {"\\"});
  expect("[c-a]", {"c"}, {"a", "b", "-"});
  expect("a[/]b", {}, {"a/b", "b"});
  expect("/a[!x]b", {"a.b"}, {"a/b"});
}

TEST(FilterPattern, NamedClasses) {
  expect("[[:alpha:]]", {"a", "Z"}, {"1", ":", "[", "\xe9"});
  expect("[![:digit:]_]", {"a"}, {"1", "_"});
  expect("[[:xdigit:]]", {"0", "f", "F"}, {"g"});
  expect("[[:space:][:punct:]]", {" ", "\t", "!"}, {"a"});
  expect("[[:cntrl:]]", {"\x01", "\x7f"}, {" ", "a"});
  expect("[:a]", {":", "a"}, {"["});
  expect("[[:]", {"[", ":"}, {"]"});
  for (const char* name : {"alnum", "blank", "graph", "lower", "print", "upper"}) {
    expect("x[[:" + std::string(name) + ":]y]", {"xy"}, {"xx/"});
  }
}

TEST(FilterPattern, WhatIsNoSetMatchesNothing) {
  for (const char* text : {"[", "[a", "*[", "[!", "[a-", "[[:foo:]]", "[[:alpha:]", "[\\", "[]", "[[::]]"}) {
    expect(text, {}, {"a", "[", "[a", "[a-", "[]"});
  }
}

TEST(FilterPattern, BackslashesQuoteWhereThereAreWildcards) {
  expect("a\\*", {"a*"}, {"ab", "a\\b"});
  expect("\\a?", {"ab"}, {"\\ab"});
  expect("a\\b", {"a\\b"}, {"ab"});
  expect("*\\", {}, {"a", "a\\"});
  expect("*\\\\", {"a\\"}, {"a"});
}

TEST(FilterPattern, BytesAreBytes) {
  expect("\xc3?", {"\xc3\xa9"}, {"\xc3"});
  expect("[\x80-\xff]", {"\xe9"}, {"e"});
}

TEST(FilterPattern, HasBounds) {
  EXPECT_FALSE(Pattern::create("").ok());
  EXPECT_TRUE(Pattern::create(std::string(Pattern::kBytesMax, 'a')).ok());
  EXPECT_FALSE(Pattern::create(std::string(Pattern::kBytesMax + 1, 'a')).ok());
}

// Each of these takes a matcher that goes back to every star longer than anyone lives.
TEST(FilterPattern, ManyStarsTakeNoTime) {
  std::string stars, deep;
  for (int i = 0; i < 100; ++i) stars += "a*";
  for (int i = 0; i < 100; ++i) deep += "**a";
  const std::string name(255, 'a');
  std::string path = name;
  for (int i = 0; i < 15; ++i) path += "/" + name;
  EXPECT_FALSE(matches(stars + "b", name));
  EXPECT_FALSE(matches("/" + stars, name + "/x"));
  EXPECT_FALSE(matches(deep + "b", path));
  EXPECT_FALSE(matches(deep + "*b/*c", path));
  EXPECT_FALSE(matches("x" + stars + "**b", path));
  EXPECT_TRUE(matches(deep, path));
}

}  // namespace
}  // namespace rdcp::tree
