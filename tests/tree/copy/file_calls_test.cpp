// How many system calls a file costs, and in which order the target makes them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/tree/copy/copy_fixture.h"
#include "tests/tree/copy/traced_calls.h"
#include "tree/fs/heard_close.h"

namespace rdcp::tree {
namespace {

using Lines = std::vector<std::string>;

constexpr std::uint32_t kChunkBytes = 64 << 10;
constexpr std::size_t kPartBytes = 16 << 20;  // from here on a file is a part with a journal

// One stream with one chunk at a time, and a ring whose operations are calls: the order does not depend on
// chance.
class FileCallsTest : public testing::Test {
 protected:
  FileCallsTest() {
    for (const char* name : {"src", "dst"}) EXPECT_EQ(::mkdirat(here_.fd(), name, 0755), 0);
    copy_.sources = {here_ / "src/"};
    copy_.destination = here_ / "dst";
    copy_.streams = 1;
    copy_.depth = 1;
    copy_.chunk_bytes = kChunkBytes;
    copy_.ring = io::RingChoice::thread_pool;
  }
  void SetUp() override {
    if (!close_is_silent(here_.fd()))
      GTEST_SKIP() << "close(2) may fail on this filesystem, so there are more calls";
    if (!trace_calls(here_.path(), [] {})) GTEST_SKIP() << "nobody may trace a process here";
  }

  void make(const std::string& name, std::size_t bytes) { write_file(here_ / name, test_bytes(bytes)); }
  void trace() {
    auto calls = trace_calls(here_.path(), [this] {
      Heard heard;
      EXPECT_TRUE(run_copy(copy_, heard).complete()) << heard.text();
    });
    ASSERT_TRUE(calls);
    calls_ = std::move(*calls);
  }
  // What changes the target, what reads it back and what makes it durable, as far as it succeeded.
  Lines order() const {
    static const std::set<std::string> kinds = {
        "pwrite",    "write",  "pread",    "copy_file_range", "ftruncate", "fchmod", "fchown",    "fsetxattr",
        "utimensat", "linkat", "renameat", "unlinkat",        "mkdirat",   "fsync",  "fdatasync", "syncfs"};
    Lines lines;
    for (const TracedCall& call : calls_) {
      const bool is_target =
          std::ranges::any_of(call.paths, [](const std::string& path) { return path.starts_with("dst"); });
      if (is_target && call.code == 0 && kinds.contains(call.name)) lines.push_back(call.text());
    }
    // Before all of them it is tried, with a file for that, whether the target folds case (Spellings).
    if (lines.size() >= 2 && lines[0] == "unlinkat dst/.case.rdcp-*" && lines[1] == "utimensat dst") {
      lines.erase(lines.begin(), lines.begin() + 2);
    }
    return lines;
  }
  // How often each call was made on one side.
  std::map<std::string, int> counts(const std::string& side) const {
    std::map<std::string, int> counts;
    for (const TracedCall& call : calls_) {
      if (call.paths.front().starts_with(side)) ++counts[call.name];
    }
    return counts;
  }

  ScratchDirectory here_;
  CopyCase copy_;
  std::vector<TracedCall> calls_;
};

// What two copies differ by of which one has more files belongs to the files, and not to the copy.
TEST_F(FileCallsTest, ASmallFileCostsSixCallsAtTheSourceAndFiveAtTheTarget) {
  constexpr int kFew = 10;
  constexpr int kMany = 30;
  using Costs = std::map<std::string, long>;
  std::map<std::string, Costs> costs;  // of each side
  for (const int files : {kFew, kMany}) {
    for (int i = 0; i < files; ++i) make("src/" + std::to_string(i), 100);
    copy_.destination = here_ / ("dst/" + std::to_string(files));
    trace();
    for (const std::string side : {"src", "dst"}) {
      for (const auto& [name, count] : counts(side)) costs[side][name] += files == kMany ? count : -count;
    }
  }
  for (auto& [side, calls] : costs) {
    for (auto& [name, count] : calls) count = std::lround(static_cast<double>(count) / (kMany - kFew));
    std::erase_if(calls, [](const auto& call) { return call.second == 0; });
  }
  EXPECT_EQ(
      costs["src"],
      (Costs{{"fstatat", 1}, {"openat", 1}, {"pread", 1}, {"fstat", 1}, {"flistxattr", 1}, {"close", 1}}));
  EXPECT_EQ(costs["dst"],
            (Costs{{"openat", 1}, {"pwrite", 1}, {"utimensat", 1}, {"linkat", 1}, {"close", 1}}));
}

TEST_F(FileCallsTest, AnEmptyFileIsNotWritten) {
  make("src/a", 0);
  trace();
  EXPECT_EQ(order(), (Lines{"utimensat dst/#", "linkat dst/# dst/a", "utimensat dst"}));
}

TEST_F(FileCallsTest, ASmallFileHasItsNameLastAndItsDirectoryIsFinishedAfterThat) {
  make("src/a", 100);
  trace();
  EXPECT_EQ(order(), (Lines{"pwrite dst/#", "utimensat dst/#", "linkat dst/# dst/a", "utimensat dst"}));
}

TEST_F(FileCallsTest, AFileThatHasTheNameIsReplacedInOneStep) {
  make("src/a", 100);
  make("dst/a", 50);
  trace();
  EXPECT_EQ(order(), (Lines{"pwrite dst/#", "utimensat dst/#", "linkat dst/# dst/.a.rdcp-*",
                            "renameat dst/.a.rdcp-* dst/a", "utimensat dst"}));
}

TEST_F(FileCallsTest, ALargeFileIsReadAndWrittenOnceAChunk) {
  make("src/a", 4 * kChunkBytes);
  trace();
  EXPECT_EQ(counts("src")["pread"], 4);
  EXPECT_EQ(order(), (Lines{"pwrite dst/#", "pwrite dst/#", "pwrite dst/#", "pwrite dst/#", "utimensat dst/#",
                            "linkat dst/# dst/a", "utimensat dst"}));
}

TEST_F(FileCallsTest, WhatTheKernelCopiesIsNeitherReadNorWritten) {
  make("src/a", 4 * kChunkBytes);
  copy_.kernel_copies = true;
  trace();
  Lines lines = order();
  if (std::erase(lines, "copy_file_range src/a dst/#") == 0) {
    EXPECT_GT(counts("dst")["ioctl"], 0) << "FICLONERANGE";
  }
  EXPECT_EQ(lines, (Lines{"utimensat dst/#", "linkat dst/# dst/a", "utimensat dst"}));
  EXPECT_EQ(counts("src")["pread"], 0);
}

TEST_F(FileCallsTest, APartsJournalNotesWhatIsWrittenAndGoesWhenItHasItsName) {
  constexpr std::uint32_t kHalf = kPartBytes / 2;
  make("src/a", kPartBytes);
  copy_.chunk_bytes = kHalf;
  trace();
  const std::string part = "dst/.rdcp-*.part";
  const std::string journal = "dst/.rdcp-*.journal";
  EXPECT_EQ(order(), (Lines{"ftruncate " + journal, "pwrite " + journal,  // its head
                            "pwrite " + part, "pwrite " + journal, "pwrite " + part, "pwrite " + journal,
                            "fchmod " + part, "utimensat " + part, "renameat " + part + " dst/a",
                            "unlinkat " + journal, "utimensat dst"}));
}

TEST_F(FileCallsTest, InPlaceNothingIsNamedOrRenamed) {
  make("src/a", 4 * kChunkBytes);
  make("dst/a", 5 * kChunkBytes);
  copy_.inplace = true;
  trace();
  EXPECT_EQ(order(), (Lines{"pwrite dst/a", "pwrite dst/a", "pwrite dst/a", "pwrite dst/a", "ftruncate dst/a",
                            "utimensat dst/a", "utimensat dst"}));
}

TEST_F(FileCallsTest, WhatIsVerifiedIsReadBackBeforeItHasItsName) {
  copy_.verify = true;
  make("src/a", 100);
  trace();
  Lines lines = order();
  lines.erase(std::ranges::unique(lines).begin(),
              lines.end());  // the page cache is read up to the end of the file
  EXPECT_EQ(lines,
            (Lines{"pwrite dst/#", "pread dst/#", "utimensat dst/#", "linkat dst/# dst/a", "utimensat dst"}));
}

TEST_F(FileCallsTest, ALargeFileIsReadBackBeforeItHasItsName) {
  copy_.verify = true;
  make("src/a", 2 * kChunkBytes);
  trace();
  Lines lines = order();
  EXPECT_EQ(std::erase(lines, "pread dst/#"), 2);
  EXPECT_EQ(lines, (Lines{"pwrite dst/#", "pwrite dst/#", "utimensat dst/#", "linkat dst/# dst/a",
                          "utimensat dst"}));
  const Lines all = order();
  EXPECT_LT(std::ranges::find(all, "pread dst/#"), std::ranges::find(all, "linkat dst/# dst/a"));
}

TEST_F(FileCallsTest, WhatIsToBeDurableIsFlushedBeforeItHasItsNameAndNamesAreFlushedAtTheEnd) {
  copy_.fsync = true;
  make("src/a", 100);
  trace();
  EXPECT_EQ(order(), (Lines{"pwrite dst/#", "utimensat dst/#", "fsync dst/#", "linkat dst/# dst/a",
                            "utimensat dst", "syncfs dst"}));
}

TEST_F(FileCallsTest, ALargeDurableFileIsFlushedOnceBeforeItHasItsName) {
  copy_.fsync = true;
  make("src/a", 2 * kChunkBytes);
  trace();
  EXPECT_EQ(order(), (Lines{"pwrite dst/#", "pwrite dst/#", "utimensat dst/#", "fsync dst/#",
                            "linkat dst/# dst/a", "utimensat dst", "syncfs dst"}));
}

// syncfs(2) of DST does not reach them.
TEST_F(FileCallsTest, WhatIsOnAnotherFilesystemBeneathDstIsFlushedByItself) {
  for (const char* name : {"src/mount", "dst/mount"}) ASSERT_EQ(::mkdirat(here_.fd(), name, 0755), 0);
  const ScopedMount mount(here_ / "dst/mount", "tmpfs", 0, "mode=755");
  if (!mount) GTEST_SKIP() << "cannot mount here";
  copy_.fsync = copy_.inplace = true;
  make("src/mount/a", 2 * kChunkBytes);
  make("dst/mount/a", 3 * kChunkBytes);
  trace();
  EXPECT_EQ(order(), (Lines{"pwrite dst/mount/a", "pwrite dst/mount/a", "ftruncate dst/mount/a",
                            "utimensat dst/mount/a", "fsync dst/mount/a", "utimensat dst/mount",
                            "fsync dst/mount", "utimensat dst", "syncfs dst"}));
}

// Checks each of many files, over several streams with several chunks in flight.
TEST_F(FileCallsTest, NothingIsWrittenOrSetAfterTheName) {
  for (int i = 0; i < 20; ++i) {
    make("src/small" + std::to_string(i), 100);
    make("src/large" + std::to_string(i), 3 * kChunkBytes + i);
  }
  for (int i = 0; i < 10; ++i) make("dst/large" + std::to_string(i), 10);
  copy_.streams = 3;
  copy_.depth = 4;
  trace();
  std::set<std::string> named;
  int names = 0;
  for (const TracedCall& call : calls_) {
    if (call.code != 0 || call.name == "close") continue;
    const std::string& file = call.paths.front();
    const bool names_it = call.name == "linkat" || call.name == "renameat";
    if (!file.starts_with("dst/") || call.name == "fstat" || call.name == "fstatat") continue;
    EXPECT_TRUE(names_it || !named.contains(file)) << call.text();
    if (call.name == "linkat") {
      ++names;
      named.insert(file);
    }
  }
  EXPECT_EQ(names, 40);
  EXPECT_EQ(order().back(), "utimensat dst");
}

}  // namespace
}  // namespace rdcp::tree
