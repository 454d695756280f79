#include "tree/mirror/pruner.h"

#include <filesystem>

#include "tests/tree/heard.h"
#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"
#include "tree/select/filter_parser.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

class PrunerTest : public testing::Test {
 protected:
  void start(const std::vector<FilterRule>& rules = {}) {
    sync.enabled = true;
    sync.mirror = true;
    sync.delete_extra = true;
    gate.emplace(sync);
    gate->begin(root.fd(), std::move(Filter::create(rules)).value(), "", device, inode);
    pruner.emplace(root.fd(), "DST", *gate, heard.reporter, losses);
  }
  void remove_others(const std::vector<std::string_view>& kept, const std::string& path = "") {
    pruner->remove_others({.path = own(path), .parts = 1, .part = 0, .names = kept}, tell);
  }
  // Whether the target says that the directory has other names than these.
  bool differs(const std::string& path, const std::vector<std::string_view>& names) {
    NameSum sum;
    for (const std::string_view name : names) sum.add(name);
    net::Verdicts verdicts;
    pruner->compare({{.path = own(path), .count = sum.count, .digest = sum.digest.value()}}, verdicts);
    return verdicts.at(0) != 0;
  }
  std::vector<std::string> told() const {
    std::vector<std::string> paths;
    for (const Change& change : changes) paths.push_back(change.path);
    std::ranges::sort(paths);
    return paths;
  }

  ScratchDirectory root;
  Heard heard;
  SyncSettings sync;
  std::uint64_t device = 0, inode = 0;
  std::optional<RemovalGate> gate;
  Losses losses;
  std::optional<Pruner> pruner;
  std::vector<Change> changes;
  const Pruner::Tell tell = [this](Change change) { changes.push_back(std::move(change)); };
};

TEST_F(PrunerTest, RemovesWhatTheSourceLacksWithAllThatIsInIt) {
  write_file(root / "keep", "");
  write_file(root / "extra", "");
  fs::create_directories(root / "tree/deep");
  write_file(root / "tree/deep/f", "");
  sync.itemize = true;
  start();
  remove_others({"keep"});
  EXPECT_EQ(names_in(root.path()), (std::vector<std::string>{"keep"}));
  EXPECT_EQ(told(), (std::vector<std::string>{"extra", "tree/", "tree/deep/", "tree/deep/f"}));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(PrunerTest, ADryRunTellsTheSameAndRemovesNothing) {
  write_file(root / "extra", "");
  sync.itemize = true;
  sync.dry_run = true;
  start();
  remove_others({});
  EXPECT_EQ(told(), (std::vector<std::string>{"extra"}));
  EXPECT_TRUE(fs::exists(root / "extra"));
}

TEST_F(PrunerTest, ProtectedNamesStayAndAreNotCounted) {
  write_file(root / "a.log", "");
  write_file(root / "b", "");
  FilterRule rule;
  rule.pattern = "*.log";
  start({rule});
  EXPECT_FALSE(differs("", {"b"}));
  remove_others({});
  EXPECT_EQ(names_in(root.path()), (std::vector<std::string>{"a.log"}));
}

TEST_F(PrunerTest, SumsTellWhichDirectoriesDiffer) {
  write_file(root / "a", "");
  write_file(root / "b", "");
  start();
  EXPECT_FALSE(differs("", {"b", "a"}));
  EXPECT_TRUE(differs("", {"a"}));
  EXPECT_TRUE(differs("", {"a", "c"}));
  EXPECT_FALSE(differs("missing", {"a"}));  // nothing can be extra there
}

TEST_F(PrunerTest, NothingIsRemovedAfterAProblem) {
  write_file(root / "extra", "");
  start();
  heard.reporter.problem(io::plain_error(io::ErrorKind::file, "write", "f", "it failed"));
  remove_others({});
  EXPECT_TRUE(fs::exists(root / "extra"));
  EXPECT_NE(heard.text().find("nothing was deleted"), std::string::npos) << heard.text();
}

TEST_F(PrunerTest, TheSourceItselfStays) {
  fs::create_directory(root / "source");
  write_file(root / "source/f", "");
  write_file(root / "extra", "");
  const struct stat status = status_of(root / "source");
  device = status.st_dev;
  inode = status.st_ino;
  start();
  remove_others({});
  EXPECT_EQ(names_in(root.path()), (std::vector<std::string>{"source"}));
  EXPECT_TRUE(fs::exists(root / "source/f"));
}

TEST_F(PrunerTest, NotMoreThanMaxDelete) {
  for (const char* name : {"a", "b", "c"}) write_file(root / name, "");
  sync.max_delete = 2;
  start();
  remove_others({});
  EXPECT_EQ(names_in(root.path()).size(), 1u);
  EXPECT_GT(gate->skipped(), 0u);
}

TEST_F(PrunerTest, ASymlinkToADirectoryIsRemovedAndNotFollowed) {
  const ScratchDirectory outside;
  write_file(outside / "f", "");
  fs::create_directory_symlink(outside.path(), root / "link");
  start();
  remove_others({});
  EXPECT_TRUE(names_in(root.path()).empty());
  EXPECT_TRUE(fs::exists(outside / "f"));
}

TEST_F(PrunerTest, NothingIsRemovedThroughASymlink) {
  const ScratchDirectory outside;
  write_file(outside / "f", "");
  fs::create_directory_symlink(outside.path(), root / "link");
  start();
  remove_others({}, "link");
  EXPECT_TRUE(fs::exists(outside / "f"));
}

TEST_F(PrunerTest, OnlyNamesOfThePartGo) {
  for (int i = 0; i < 20; ++i) write_file(root / std::to_string(i), "");
  start();
  pruner->remove_others({.path = own(""), .parts = 2, .part = 1, .names = {}}, tell);
  const std::vector<std::string> left = names_in(root.path());
  EXPECT_FALSE(left.empty());
  EXPECT_LT(left.size(), 20u);
  for (const std::string& name : left) EXPECT_EQ(part_of(name, 2), 0u) << name;
}

TEST_F(PrunerTest, StopsWhenTheRunGivesUp) {
  for (const char* name : {"a", "b", "c"}) write_file(root / name, "");
  start();
  pruner->going = [] { return false; };
  remove_others({});
  EXPECT_EQ(names_in(root.path()).size(), 3u);
}

}  // namespace
}  // namespace rdcp::tree
