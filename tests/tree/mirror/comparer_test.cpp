#include "tree/mirror/comparer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

constexpr Timestamp kTime{1'600'000'000, 123'456'789};

SyncSettings mirror() {
  SyncSettings sync;
  sync.enabled = true;
  sync.mirror = true;
  sync.itemize = true;
  return sync;
}

class ComparerTest : public testing::Test {
 protected:
  // A file at the target with the time and mode that entries of the source have here.
  void put(const std::string& name, const std::string& content, std::int64_t seconds = kTime.seconds) {
    write_file(root / name, content);
    ASSERT_EQ(::chmod((root / name).c_str(), 0644), 0);
    set_time(name, seconds);
  }
  void set_time(const std::string& name, std::int64_t seconds) {
    const timespec time{seconds, kTime.nanoseconds};
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, (root / name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  static Question question(EntryType type, const std::string& path, std::uint64_t size = 0) {
    Question question;
    question.entry.type = type;
    question.entry.path = own(path);
    question.entry.mode = type == EntryType::directory ? 0755 : 0644;
    question.entry.uid = ::geteuid();
    question.entry.gid = ::getegid();
    question.entry.mtime = kTime;
    question.entry.size = size;
    return question;
  }
  static Question file(const std::string& path, std::uint64_t size) {
    return question(EntryType::file, path, size);
  }
  // As the source digests a small file.
  static io::Digest digest_of_content(std::string_view content) {
    io::FileDigest digest;
    digest.add(0, content.size(), io::digest_of(std::as_bytes(std::span(content))));
    return digest.value();
  }
  io::Result<Verdict> ask(const Question& question) {
    gate.emplace(sync);
    gate->begin(root.fd(), Filter(), "", 0, 0);
    Comparer comparer(root.fd(), "DST", *gate, policy, names);
    changes.clear();
    return comparer.compare(question, changes);
  }
  void expect(Verdict verdict, const Question& question) {
    const auto found = ask(question);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(*found, verdict) << question.entry.path.text();
  }

  ScratchDirectory root;
  SyncSettings sync = mirror();
  MetadataPolicy policy;
  NameTable names;
  std::optional<RemovalGate> gate;
  std::vector<Change> changes;
};

TEST_F(ComparerTest, SizeAndTimeDecide) {
  put("f", "abc");
  expect(Verdict::equal, file("f", 3));
  EXPECT_TRUE(changes.empty());
  expect(Verdict::different, file("f", 4));
  Question later = file("f", 3);
  later.entry.mtime.seconds += 1;
  expect(Verdict::different, later);
  later = file("f", 3);
  later.entry.mtime.nanoseconds += 1;
  expect(Verdict::different, later);
  expect(Verdict::different, file("missing", 3));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].path, "missing");
}

TEST_F(ComparerTest, WithSizeOnlyTheTimeIsMetadata) {
  put("f", "abc", kTime.seconds - 100);
  sync.size_only = true;
  expect(Verdict::metadata, file("f", 3));
  expect(Verdict::different, file("f", 4));
}

TEST_F(ComparerTest, WithIgnoreTimesEverythingIsSent) {
  put("f", "abc");
  sync.ignore_times = true;
  expect(Verdict::different, file("f", 3));
}

TEST_F(ComparerTest, WithChecksumTheContentDecides) {
  put("f", "abc", kTime.seconds - 100);
  sync.checksum = true;
  Question asked = file("f", 3);
  asked.content = digest_of_content("abc");
  expect(Verdict::metadata, asked);
  set_time("f", kTime.seconds);
  asked.content = digest_of_content("abd");
  expect(Verdict::different, asked);
}

TEST_F(ComparerTest, TimesWithinTheWindowAreEqual) {
  put("f", "abc", kTime.seconds - 2);
  sync.modify_window_s = 2u;
  expect(Verdict::equal, file("f", 3));
  sync.modify_window_s = 1u;
  expect(Verdict::different, file("f", 3));
}

// The difference of such times is no signed number.
TEST_F(ComparerTest, TheEarliestTimeIsFarFromEveryOther) {
  put("f", "abc", 0);
  Question asked = file("f", 3);
  asked.entry.mtime.seconds = std::numeric_limits<std::int64_t>::min();
  for (const std::uint32_t window : {0u, 2u}) {
    sync.modify_window_s = window;
    expect(Verdict::different, asked);
  }
}

TEST_F(ComparerTest, UpdateLeavesNewerFilesAlone) {
  put("newer", "abcd", kTime.seconds + 10);
  put("older", "abcd", kTime.seconds - 10);
  sync.update = true;
  expect(Verdict::refused, file("newer", 3));
  expect(Verdict::different, file("older", 3));
}

TEST_F(ComparerTest, WithUpdateTheWindowReachesAsFarBothWays) {
  put("f", "abcd", kTime.seconds + 2);
  sync.update = true;
  sync.modify_window_s = 2u;
  expect(Verdict::different, file("f", 3));
  sync.modify_window_s = 1u;
  expect(Verdict::refused, file("f", 3));
}

// To such a time nothing can be added.
TEST_F(ComparerTest, WithUpdateNothingIsNewerThanTheLatestTime) {
  put("f", "abcd");
  Question asked = file("f", 3);
  asked.entry.mtime = {std::numeric_limits<std::int64_t>::max(), 999'999'999};
  sync.update = true;
  for (const std::uint32_t window : {0u, 2u, kModifyWindowMax}) {
    sync.modify_window_s = window;
    expect(Verdict::different, asked);
  }
}

TEST_F(ComparerTest, ExistingMakesNothingAndIgnoreExistingTouchesNothing) {
  put("f", "abcd");
  sync.existing = true;
  expect(Verdict::refused, file("missing", 3));
  expect(Verdict::different, file("f", 3));
  sync.existing = false;
  sync.ignore_existing = true;
  expect(Verdict::different, file("missing", 3));
  expect(Verdict::refused, file("f", 3));
}

TEST_F(ComparerTest, OtherMetadataOfTheSameContentIsMetadata) {
  put("f", "abc");
  Question asked = file("f", 3);
  asked.entry.mode = 0600;
  expect(Verdict::metadata, asked);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].code, ".f...p.....");
}

// A second name may be a file of its own at the source, so the inode is not changed under it.
TEST_F(ComparerTest, AFileWithOtherNamesIsSentAnew) {
  put("f", "abc");
  fs::create_hard_link(root / "f", root / "g");
  Question asked = file("f", 3);
  asked.entry.mode = 0600;
  expect(Verdict::different, asked);
}

TEST_F(ComparerTest, ASymlinkIsComparedByItsTargetAndNotFollowed) {
  fs::create_symlink("there", root / "l");
  set_time("l", kTime.seconds);
  Question asked = question(EntryType::symlink, "l");
  asked.entry.link_target = "there";
  expect(Verdict::equal, asked);
  asked.entry.link_target = "elsewhere";
  expect(Verdict::different, asked);
  EXPECT_EQ(changes.at(0).code.substr(0, 3), "cLc");
}

TEST_F(ComparerTest, ASymlinkIsNoDirectoryToLookThrough) {
  fs::create_directory(root / "real");
  put("real/f", "abc");
  fs::create_directory_symlink("real", root / "link");
  expect(Verdict::different, file("link/f", 3));
}

TEST_F(ComparerTest, AHardLinkIsEqualToItsOtherName) {
  put("f", "abc");
  fs::create_hard_link(root / "f", root / "g");
  put("h", "abc");
  Question asked = question(EntryType::hard_link, "g");
  asked.entry.first_name = own("f");
  expect(Verdict::equal, asked);
  asked.entry.path = own("h");
  expect(Verdict::different, asked);
  // Its first name gets another inode, so the link has to follow.
  asked.entry.path = own("g");
  asked.first_changes = true;
  expect(Verdict::different, asked);
}

TEST_F(ComparerTest, ADirectoryThatIsNotEmptyStaysWithoutDelete) {
  fs::create_directory(root / "d");
  write_file(root / "d/f", "x");
  EXPECT_FALSE(ask(file("d", 3)).ok());
  EXPECT_TRUE(fs::exists(root / "d/f"));
  sync.delete_extra = true;
  expect(Verdict::different, file("d", 3));
  EXPECT_TRUE(fs::exists(root / "d/f"));  // to compare changes nothing
}

TEST_F(ComparerTest, AnEmptyDirectoryMakesWay) {
  fs::create_directory(root / "d");
  expect(Verdict::different, file("d", 3));
}

TEST_F(ComparerTest, DirectoriesAreComparedByMetadata) {
  fs::create_directory(root / "d");
  ASSERT_EQ(::chmod((root / "d").c_str(), 0755), 0);
  set_time("d", kTime.seconds);
  expect(Verdict::equal, question(EntryType::directory, "d"));
  set_time("d", 1);
  expect(Verdict::metadata, question(EntryType::directory, "d"));
  EXPECT_EQ(changes.at(0).code, ".d..t......");
}

TEST_F(ComparerTest, WithoutItemizeNothingIsTold) {
  sync.itemize = false;
  expect(Verdict::different, file("missing", 3));
  EXPECT_TRUE(changes.empty());
}

TEST_F(ComparerTest, DirectoriesOfOursAreSearchedAndClosedAgain) {
  std::filesystem::create_directories(root / "a/b/c");
  put("a/b/c/f", "abc");
  for (const char* path : {".", "a", "a/b", "a/b/c", "a/b/c/f"}) root.give_to_scoped_user(path);
  const ScopedUser user;
  const Question here = file("a/b/c/f", 3);
  const auto close = [&] {
    for (const char* path : {"a/b/c", "a/b", "a"}) ASSERT_EQ(::chmod((root / path).c_str(), 0644), 0);
  };
  close();
  if (::eaccess((root / "a/b").c_str(), F_OK) == 0) GTEST_SKIP() << "this user may search any directory";
  OpenedDirectories opened([](const io::Error& error) { ADD_FAILURE() << error.message(); });
  opened.begin(root.fd(), "DST");
  for (const bool dry_run : {true, false}) {
    sync.dry_run = dry_run;
    gate.emplace(sync);
    gate->begin(root.fd(), Filter(), "", 0, 0);
    Comparer comparer(root.fd(), "DST", *gate, policy, names);
    comparer.open_up_by(opened);
    const auto found = comparer.compare(here, changes);
    EXPECT_EQ(found.ok(), !dry_run);
    EXPECT_EQ(status_of(root / "a").st_mode & 07777, dry_run ? 0644u : 0744u);
  }
  opened.close_all();
  EXPECT_EQ(status_of(root / "a").st_mode & 07777, 0644u);
}

TEST_F(ComparerTest, KnowsWhetherMetadataAreThereAlready) {
  put("f", "abc");
  gate.emplace(sync);
  gate->begin(root.fd(), Filter(), "", 0, 0);
  Comparer comparer(root.fd(), "DST", *gate, policy, names);
  Entry entry = file("f", 99).entry;
  EXPECT_TRUE(comparer.has_metadata_of(entry));  // of whatever size
  entry.mode = 0600;
  EXPECT_FALSE(comparer.has_metadata_of(entry));
  EXPECT_FALSE(comparer.has_metadata_of(file("missing", 3).entry));
}

}  // namespace
}  // namespace rdcp::tree
