#include "tree/select/destination_mapping.h"

#include <gtest/gtest.h>

namespace rdcp::tree {
namespace {

PathFacts facts(PathKind kind, std::uint64_t inode = 1) {
  return {.kind = kind, .device = 1, .inode = inode};
}

TargetReady target(PathKind kind, std::vector<PathFacts> ancestors = {}) {
  TargetReady ready;
  ready.kind = kind;
  ready.ancestors = std::move(ancestors);
  return ready;
}

std::string where(const std::string& source, PathKind kind, const std::string& destination, PathKind there) {
  const auto landing = land({source}, {facts(kind)}, destination, target(there), {.same_kernel = true});
  if (!landing) return "error";
  return (landing->in_place         ? "in place"
          : landing->beneath_parent ? "parent/"
                                    : "dst/") +
         (landing->in_place ? "" : landing->landings[0]);
}

TEST(DestinationMapping, FollowsTheTable) {
  using enum PathKind;
  EXPECT_EQ(where("a/src", directory, "b/dst", missing), "parent/dst");
  EXPECT_EQ(where("a/src", directory, "b/dst", directory), "dst/src");
  EXPECT_EQ(where("a/src", directory, "b/dst", file), "error");
  EXPECT_EQ(where("a/src/", directory, "b/dst", missing), "parent/dst");
  EXPECT_EQ(where("a/src/", directory, "b/dst", directory), "dst/");
  EXPECT_EQ(where("a/src", file, "b/dst", missing), "parent/dst");
  EXPECT_EQ(where("a/src", file, "b/dst", directory), "dst/src");
  EXPECT_EQ(where("a/src", file, "b/dst", file), "parent/dst");
  EXPECT_EQ(where("a/src", file, "b/dst/", missing), "error");
  EXPECT_EQ(where("a/src", directory, "b/dst/", missing), "parent/dst");
  EXPECT_EQ(where("a/src", file, "/dev/null", special), "in place");
  EXPECT_EQ(where("a/src", directory, "/dev/null", special), "error");
  EXPECT_EQ(where("-", byte_stream, "b/dst", missing), "parent/dst");
  EXPECT_EQ(where("-", byte_stream, "b/dst", directory), "error");
}

TEST(DestinationMapping, DotsMeanContents) {
  for (const char* source : {".", "..", "a/.", "a/..", "a/", "/"}) {
    EXPECT_TRUE(means_contents(source)) << source;
    EXPECT_EQ(where(source, PathKind::directory, "dst", PathKind::directory), "dst/") << source;
  }
  for (const char* source : {"a", "a/b", ".a", "a.", "...", "a/..."})
    EXPECT_FALSE(means_contents(source)) << source;
}

TEST(DestinationMapping, SeveralSourcesNeedADirectory) {
  const std::vector<PathFacts> two{facts(PathKind::file), facts(PathKind::file)};
  EXPECT_FALSE(land({"a", "b"}, two, "dst", target(PathKind::missing), {.same_kernel = true}).ok());
  EXPECT_FALSE(land({"a", "b"}, two, "dst", target(PathKind::file), {.same_kernel = true}).ok());
  EXPECT_TRUE(land({"a", "b"}, two, "dst", target(PathKind::directory), {.same_kernel = true}).ok());
}

TEST(DestinationMapping, OneOfSeveralSourcesNeedsADirectoryToo) {
  const std::vector<PathFacts> one{facts(PathKind::file)};
  EXPECT_FALSE(
      land({"a"}, one, "dst", target(PathKind::missing), {.same_kernel = true, .into_directory = true}).ok());
  EXPECT_TRUE(
      land({"a"}, one, "dst", target(PathKind::directory), {.same_kernel = true, .into_directory = true})
          .ok());
}

TEST(DestinationMapping, ANameIsNotTakenTwice) {
  const std::vector<PathFacts> two{facts(PathKind::file), facts(PathKind::file)};
  const auto landing = land({"x/a", "y/a"}, two, "dst", target(PathKind::directory), {.same_kernel = true});
  ASSERT_FALSE(landing.ok());
  EXPECT_NE(landing.error().message().find("y/a"), std::string::npos);
}

TEST(DestinationMapping, ContentThatIsRemovedLiesAmongNoOther) {
  const std::vector<PathFacts> two{facts(PathKind::directory), facts(PathKind::directory)};
  const TargetReady there = target(PathKind::directory);
  EXPECT_TRUE(land({"x/", "y/"}, two, "dst", there, {}).ok());
  EXPECT_TRUE(land({"x", "y"}, two, "dst", there, {.removes_source = true}).ok());
  EXPECT_TRUE(land({"x/"}, {two[0]}, "dst", there, {.removes_source = true}).ok());
  const auto refused = land({"x", "y/"}, two, "dst", there, {.removes_source = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, io::ErrorKind::usage);
}

TEST(DestinationMapping, NoDirectoryIntoItself) {
  const TargetReady beneath =
      target(PathKind::directory, {facts(PathKind::directory, 7), facts(PathKind::directory, 5)});
  EXPECT_FALSE(land({"src"}, {facts(PathKind::directory, 5)}, "src/x", beneath, {.same_kernel = true}).ok());
  EXPECT_TRUE(land({"src"}, {facts(PathKind::directory, 6)}, "src/x", beneath, {.same_kernel = true}).ok());
  // Inode numbers of two machines say nothing about each other.
  EXPECT_TRUE(land({"src"}, {facts(PathKind::directory, 5)}, "src/x", beneath, {.same_kernel = false}).ok());
}

// What a source says of its path is the world: an honest one calls none of these a file.
TEST(DestinationMapping, NoNameThatIsNone) {
  using enum PathKind;
  for (const char* source : {"..", ".", "/", "a/..", "a/."}) {
    for (const PathKind kind : {file, symlink, special}) {
      EXPECT_EQ(where(source, kind, "dst", directory), "error") << source;
    }
  }
}

TEST(DestinationMapping, OnlyWhatCanBeCopiedIsAdmitted) {
  using enum PathKind;
  const auto landing = land({"a", "b", "c"}, {facts(file), facts(missing), facts(unusable)}, "dst",
                            target(directory), {.same_kernel = true});
  ASSERT_TRUE(landing.ok());
  EXPECT_EQ(landing->landings, (std::vector<std::string>{"a", "", ""}));
  EXPECT_EQ(landing->admitted, (std::vector<std::string>{"a"}));
}

TEST(DestinationMapping, NoNameThatLeavesTheParent) {
  EXPECT_FALSE(
      land({"a"}, {facts(PathKind::file)}, "missing/..", target(PathKind::missing), {.same_kernel = true})
          .ok());
}

}  // namespace
}  // namespace rdcp::tree
