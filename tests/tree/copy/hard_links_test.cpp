// Files with several names, where one of the names is left alone or cannot be put: the others are linked only
// to a name that this run has put, or found equal.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kNames{"a", "b", "c"};

// Which name the walk meets first is the filesystem's choice, so each test takes its turn with each name.
class HardLinksTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    fs::create_directory(scratch / "from");
    fs::create_directory(scratch / "to");
  }

  void make_source(const std::string& content) {
    write_file(from(0), content);
    fs::create_hard_link(from(0), from(1));
    fs::create_hard_link(from(0), from(2));
  }
  static void age(const std::string& path, int hours) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  static ino_t inode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_ino;
  }
  // The names in turn, from the one that this test is about.
  std::string from(int i) const { return scratch / "from/" + kNames[static_cast<std::size_t>(i)]; }
  std::string to(int i) const {
    return scratch / "to/" + kNames[static_cast<std::size_t>((GetParam() + i) % 3)];
  }
  CopyResult copy(SyncSettings sync) {
    CopyCase copy;
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / "to";
    copy.sync = sync;
    copy.changes = [this](const Changes& changes) {
      const std::lock_guard lock(mutex_);
      for (const Change& change : changes.list) told.push_back(change.code + " " + change.path);
    };
    return run_copy(copy, heard);
  }

  ScratchDirectory scratch;
  Heard heard;
  std::vector<std::string> told;

 private:
  std::mutex mutex_;
};

constexpr SyncSettings mirror() {
  SyncSettings sync;
  sync.enabled = true;
  sync.mirror = true;
  return sync;
}
constexpr SyncSettings kSync = mirror();

TEST_P(HardLinksTest, IgnoreExistingLinksNothingToAnOldFile) {
  make_source("new");
  write_file(to(0), "old");
  SyncSettings sync = kSync;
  sync.ignore_existing = true;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(content_of(to(0)), "old");
  EXPECT_EQ(content_of(to(1)), "new");
  EXPECT_EQ(inode_of(to(1)), inode_of(to(2)));
}

TEST_P(HardLinksTest, IgnoreExistingSendsALargeFileUnderTheNextName) {
  const std::string content = test_bytes(300'000);
  make_source(content);
  write_file(to(0), "old");
  write_file(to(1), "old too");
  SyncSettings sync = kSync;
  sync.ignore_existing = true;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(content_of(to(0)), "old");
  EXPECT_EQ(content_of(to(1)), "old too");
  EXPECT_TRUE(content_of(to(2)) == content);
}

TEST_P(HardLinksTest, ExistingUpdatesWhateverNamesThereAre) {
  make_source("new");
  write_file(to(1), "old one");
  write_file(to(2), "old other");
  SyncSettings sync = kSync;
  sync.existing = true;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_FALSE(fs::exists(to(0)));
  EXPECT_EQ(content_of(to(1)), "new");
  EXPECT_EQ(inode_of(to(1)), inode_of(to(2)));
}

TEST_P(HardLinksTest, ExistingUpdatesTheOnlyNameThatIsThere) {
  make_source("new");
  write_file(to(0), "old one");
  SyncSettings sync = kSync;
  sync.existing = true;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(content_of(to(0)), "new");
  EXPECT_FALSE(fs::exists(to(1)));
  EXPECT_FALSE(fs::exists(to(2)));
}

TEST_P(HardLinksTest, UpdateNeitherTouchesNorLinksToANewerFile) {
  make_source("old");
  age(from(0), 48);
  write_file(to(0), "newer");
  write_file(to(1), "older");
  age(to(1), 72);
  SyncSettings sync = kSync;
  sync.update = true;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(content_of(to(0)), "newer");
  EXPECT_EQ(content_of(to(1)), "old");
  EXPECT_EQ(inode_of(to(1)), inode_of(to(2)));
}

TEST_P(HardLinksTest, ANameThatCannotBeReplacedIsPassedOver) {
  make_source("new");
  fs::create_directories(to(0) + "/full");
  EXPECT_TRUE(copy(kSync).complete());
  EXPECT_EQ(heard.problems().size(), 1u);
  EXPECT_NE(heard.text().find(to(0)), std::string::npos) << heard.text();
  EXPECT_EQ(content_of(to(1)), "new");
  EXPECT_EQ(inode_of(to(1)), inode_of(to(2)));
}

TEST_P(HardLinksTest, ADryRunTellsTheSame) {
  make_source("new");
  age(scratch / "from", 1);  // so that the directories differ, too, whatever the clock's grain
  write_file(to(0), "old");
  SyncSettings sync = kSync;
  sync.ignore_existing = true;
  sync.itemize = true;
  sync.dry_run = true;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_FALSE(fs::exists(to(1)));
  const std::vector<std::string> dry = std::exchange(told, {});
  sync.dry_run = false;
  EXPECT_TRUE(copy(sync).complete());
  EXPECT_EQ(dry, told);
  ASSERT_EQ(told.size(), 3u) << testing::PrintToString(told);
  EXPECT_EQ(std::ranges::count_if(told, [](const std::string& line) { return line.starts_with(">f+"); }), 1);
  EXPECT_EQ(std::ranges::count_if(told, [](const std::string& line) { return line.starts_with("hf+"); }), 1);
}

// Files cannot grow beyond `bytes` for as long as this lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_P(HardLinksTest, NothingIsLinkedToTheOldFileWhereTheNewOneCouldNotBeWritten) {
  make_source(test_bytes(10'000));
  for (int i = 0; i < 3; ++i) write_file(to(i), "old" + std::to_string(i));
  {
    const FileLimit limit(5'000);
    copy({});
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(content_of(to(i)), "old" + std::to_string(i));
    EXPECT_NE(heard.text().find(to(i)), std::string::npos) << heard.text();
  }
}

// The reading side's failure: no name is taken for copied.
TEST_P(HardLinksTest, NothingIsLinkedToTheOldFileWhereTheNewOneCouldNotBeRead) {
  make_source("new");
  for (int i = 0; i < 3; ++i) write_file(to(i), "old" + std::to_string(i));
  ASSERT_EQ(::chmod(from(0).c_str(), 0), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(scratch.path().c_str(), 0777), 0);
    ASSERT_EQ(::chmod((scratch / "to").c_str(), 0777), 0);
  }
  {
    const ScopedUser user;
    copy({});
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(content_of(to(i)), "old" + std::to_string(i));
    EXPECT_NE(heard.text().find("/from/" + std::string(kNames[static_cast<std::size_t>(i)])),
              std::string::npos)
        << heard.text();
  }
}

INSTANTIATE_TEST_SUITE_P(EachName, HardLinksTest, testing::Values(0, 1, 2), [](const auto& info) {
  return std::string(kNames[static_cast<std::size_t>(info.param)]);
});

}  // namespace
}  // namespace rdcp::tree
