#include "tree/select/named_paths.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

NamedPaths named(std::initializer_list<std::string_view> paths) {
  PathsNamed part;
  for (const std::string_view path : paths) (part.paths += path) += '\0';
  NamedPaths names;
  EXPECT_TRUE(names.add(part).ok());
  names.sort();
  return names;
}

// As a walk takes them: "d" itself, "d/" its content, "d(...)" what is named beneath it.
std::string walked(const NamedPaths& names, NamedPaths::Range range, std::size_t prefix) {
  std::string text;
  while (!range.empty()) {
    const NamedPaths::Group group = names.take_group(range, prefix);
    text += (text.empty() ? "" : " ") + std::string(group.itself ? "" : "~") + std::string(group.name) +
            (group.content ? "/" : "");
    if (!group.beneath.empty()) {
      text += "(" + walked(names, group.beneath, prefix + group.name.size() + 1) + ")";
    }
  }
  return text;
}
std::string walked(std::initializer_list<std::string_view> paths) {
  const NamedPaths names = named(paths);
  NamedPaths::Range range = names.all();
  const bool content = names.take_content(range);
  return std::string(content ? "." : "") + walked(names, range, 0);
}

TEST(NamedPaths, AreMetLikeATree) {
  EXPECT_EQ(walked({"b", "a/x", "a/y/z", "c"}), "~a(x ~y(z)) b c");
  EXPECT_EQ(walked({"a.b", "a/x", "a"}), "a(x) a.b");
  EXPECT_EQ(walked({"a/x", "a-", "a"}), "a(x) a-");
  EXPECT_EQ(walked({}), "");
}

TEST(NamedPaths, TwiceIsOnce) {
  EXPECT_EQ(walked({"a", "a", "./a", "b/../a"}), "a");
}

TEST(NamedPaths, AreCleaned) {
  EXPECT_EQ(walked({"/a//b/./c"}), "~a(~b(c))");
  EXPECT_EQ(walked({"../../a"}), "a");
  EXPECT_EQ(walked({"a/../../b"}), "b");
  EXPECT_EQ(walked({"x", "a/b/../../c"}), "c x");
  EXPECT_EQ(walked({"...", "..a"}), "... ..a");
}

TEST(NamedPaths, ASlashAtTheEndMeansTheContent) {
  EXPECT_EQ(walked({"a/"}), "a/");
  EXPECT_EQ(walked({"a/."}), "a/");
  EXPECT_EQ(walked({"a/b/.."}), "a/");
  EXPECT_EQ(walked({"a/", "a/b", "a"}), "a/(b)");
  EXPECT_EQ(walked({"."}), ".");
  EXPECT_EQ(walked({"/", "a"}), ".a");
  EXPECT_EQ(walked({"..", ""}), ".");
}

TEST(NamedPaths, AreFoundInTheirDirectory) {
  const NamedPaths names = named({"b", "d/a.b", "d/a/x", "d/c/", "e"});
  NamedPaths::Range range = names.all();
  EXPECT_TRUE(names.has(range, 0, "b") && names.has(range, 0, "d") && names.has(range, 0, "e"));
  EXPECT_FALSE(names.has(range, 0, "a") || names.has(range, 0, "c") || names.has(range, 0, "f"));
  names.take_group(range, 0);
  const auto beneath = names.take_group(range, 0).beneath;
  EXPECT_TRUE(names.has(beneath, 2, "a") && names.has(beneath, 2, "a.b") && names.has(beneath, 2, "c"));
  EXPECT_FALSE(names.has(beneath, 2, "x") || names.has(beneath, 2, "a.") || names.has(beneath, 2, "e"));
}

TEST(NamedPaths, WhatAPeerSendsIsBounded) {
  NamedPaths names;
  EXPECT_FALSE(names.add({.paths = "no end"}).ok());
  std::string part(PathsNamed::kBytesMax, 'a');
  part.back() = '\0';
  EXPECT_TRUE(names.add({.paths = part}).ok());
  EXPECT_FALSE(names.add({.paths = part + part}).ok());
}

TEST(NamedPaths, EmptyOnesAreBoundedToo) {
  NamedPaths names;
  const PathsNamed part{.paths = std::string(PathsNamed::kBytesMax, '\0')};
  int taken = 0;
  while (taken < 40 && names.add(part).ok()) ++taken;
  EXPECT_GE(taken, 16);
  EXPECT_LE(taken, 32);
}

}  // namespace
}  // namespace rdcp::tree
