// Mirrors between a real Source and a real Target: what is compared, what is sent, and what streams that
// break in the middle do to either.
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "tests/tree/copy/cut_wire.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

class SyncTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(scratch / "from/a/b");
    fs::create_directories(scratch / "from/empty");
    for (int i = 0; i < 300; ++i) {
      const std::string name = (i % 2 == 0 ? "from/a/small" : "from/a/b/small") + std::to_string(i);
      write_file(scratch / name, test_bytes(100 + static_cast<std::size_t>(i), i));
    }
    write_file(scratch / "from/a/large", test_bytes(300'000, 7));
    fs::create_symlink("a/large", scratch / "from/link");
    fs::create_hard_link(scratch / "from/a/large", scratch / "from/a/b/again");
    // The target is made within the same tick of the clock.
    fs::last_write_time(scratch / "from", fs::last_write_time(scratch / "from") - std::chrono::hours(1));
  }

  CopyCase mirror() {
    CopyCase copy;
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / "to";
    copy.sync.enabled = true;
    copy.sync.mirror = true;
    copy.sync.itemize = true;
    copy.sync.delete_extra = true;
    copy.changes = [this](const Changes& changes) {
      const std::lock_guard lock(mutex_);
      for (const Change& change : changes.list) ++told_[change.code + " " + change.path];
    };
    return copy;
  }
  // What was told since the last call, each with how often.
  std::map<std::string, int> told() {
    const std::lock_guard lock(mutex_);
    return std::exchange(told_, {});
  }
  void expect_same_content() {
    for (const auto& entry : fs::recursive_directory_iterator(scratch / "from")) {
      const fs::path there = fs::path(scratch / "to") / entry.path().lexically_relative(scratch / "from");
      ASSERT_TRUE(fs::exists(fs::symlink_status(there))) << there;
      if (!entry.is_regular_file()) continue;
      EXPECT_TRUE(content_of(there) == content_of(entry.path())) << there;
    }
  }

  ScratchDirectory scratch;
  Heard heard;

 private:
  std::mutex mutex_;
  std::map<std::string, int> told_;
};

TEST_F(SyncTest, WhatIsEqualIsLeftAloneAndNothingIsTold) {
  fs::create_directory(scratch / "to");
  EXPECT_TRUE(run_copy(mirror(), heard).complete());
  EXPECT_EQ(told().size(), 300u + 2 + 1 + 4);
  expect_same_content();
  const CopyResult again = run_copy(mirror(), heard);
  EXPECT_TRUE(again.complete());
  EXPECT_EQ(again.source.files + again.source.directories + again.source.others, 0u);
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(heard.text(), "");
}

TEST_F(SyncTest, ADryRunTellsTheSameAndSendsNothing) {
  fs::create_directory(scratch / "to");
  write_file(scratch / "to/extra", "x");
  CopyCase dry = mirror();
  dry.sync.dry_run = true;
  const CopyResult result = run_copy(dry, heard);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(result.source.files, 0u);
  EXPECT_TRUE(fs::exists(scratch / "to/extra"));
  EXPECT_FALSE(fs::exists(scratch / "to/a"));
  const auto said = told();
  EXPECT_TRUE(run_copy(mirror(), heard).complete());
  EXPECT_EQ(told(), said);
  EXPECT_FALSE(fs::exists(scratch / "to/extra"));
}

// Each line once, whatever page was under way on the stream that broke.
TEST_F(SyncTest, AStreamThatBreaksTellsNothingTwiceAndLosesNothing) {
  for (const std::uint64_t cut : {500u, 3'000u, 9'000u, 30'000u, 100'000u, 250'000u}) {
    fs::remove_all(scratch / "to");
    fs::create_directory(scratch / "to");
    write_file(scratch / "to/extra", "x");
    CopyCase copy = mirror();
    std::vector<std::unique_ptr<CutWire>> wires;
    copy.join = [&](int stream, const net::StreamShape& shape) {
      wires.push_back(std::make_unique<CutWire>(stream == 0 ? cut : kNever, kNever));
      return wires.back()->ends(shape);
    };
    EXPECT_TRUE(run_copy(copy, heard).complete()) << cut;
    expect_same_content();
    EXPECT_FALSE(fs::exists(scratch / "to/extra"));
    for (const auto& [line, count] : told()) EXPECT_EQ(count, 1) << line << ", cut after " << cut;
    EXPECT_EQ(heard.text(), "");
  }
}

TEST_F(SyncTest, NothingIsDeletedAfterAProblem) {
  fs::create_directory(scratch / "to");
  fs::create_directories(scratch / "to/link/in the way");
  write_file(scratch / "to/extra", "x");
  CopyCase copy = mirror();
  copy.sync.delete_extra = false;
  run_copy(copy, heard);
  EXPECT_NE(heard.text().find("is a directory"), std::string::npos);
  copy.sync.delete_extra = true;
  heard.reporter.problem(io::plain_error(io::ErrorKind::file, "test", "", "a problem"));
  run_copy(copy, heard);
  EXPECT_TRUE(fs::exists(scratch / "to/extra"));
  EXPECT_NE(heard.text().find("nothing was deleted"), std::string::npos);
}

}  // namespace
}  // namespace rdcp::tree
