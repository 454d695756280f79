// An agent's side of a check: lists in one order, digests of what is asked for, nothing else.
#include <sys/xattr.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <random>

#include "tests/tree/copy/copy_fixture.h"
#include "tree/check/checker.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

TEST(Precedes, PutsADirectoryBeforeWhatIsInIt) {
  const std::vector<std::string> order{"",    "a",     "a/b", "a/b/c", "a/c", "a\x01",
                                       "a.b", "a.b/x", "aa",  "b",     "\xff"};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) EXPECT_EQ(precedes(order[i], order[j]), i < j) << i << j;
  }
}

struct CheckerTest : testing::Test {
  std::vector<ListedEntry> list(const std::string& path) {
    ListJob job;
    job.path = path;
    const auto top = LookedAt::open(path);
    EXPECT_TRUE(top.ok());
    NameTable names;
    Lister lister(*top, job, names, heard.reporter);
    std::vector<ListedEntry> entries;
    for (ListedEntry entry; lister.next(entry);) entries.push_back(entry);
    return entries;
  }
  // The list with what its readers add to it.
  std::vector<ListedEntry> read(const ListJob& job, const SourceWishes& wishes = {}) {
    std::mutex mutex;
    std::vector<ListedEntry> entries;
    std::atomic<bool> over{false};
    Checker checker(job, heard.reporter,
                    {[&](const Listed& page) {
                       const std::lock_guard lock(mutex);
                       entries.insert(entries.end(), page.entries.begin(), page.entries.end());
                       over = page.over;
                       over.notify_all();
                     },
                     [](const SumTold&) {}},
                    wishes);
    checker.list_more(1000);
    over.wait(false);
    const std::lock_guard lock(mutex);
    return entries;
  }
  SumFound ask(const std::string& path, const SumItem& item) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<SumTold> told;
    Checker checker({.number = 0, .path = path}, heard.reporter,
                    {[](const Listed&) {},
                     [&](const SumTold& answer) {
                       std::lock_guard lock(mutex);
                       told = answer;
                       changed.notify_all();
                     }});
    EXPECT_TRUE(checker.ask({.id = 7, .items = {item}}));
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return told.has_value(); });
    EXPECT_EQ(told->id, 7u);
    return told->found.front();
  }
  static decltype(io::Digest::bytes) digest(std::string_view bytes) {
    return io::digest_of(std::as_bytes(std::span(bytes))).bytes;
  }
  ScratchDirectory scratch;
  Heard heard;
};

TEST_F(CheckerTest, ListsATreeInOrder) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string path = scratch.path();
    for (unsigned depth = random() % 5; depth > 0; --depth) {
      path += "/";
      for (unsigned n = 1 + random() % 2; n > 0; --n) path += "a.\x01z\xff"[random() % 5];
      if (path.ends_with("/.") || path.ends_with("/..")) path += "x";
    }
    std::error_code taken;
    fs::create_directories(path, taken);
    if (!taken) write_file(path + "/f" + std::to_string(random() % 3), "x");
  }
  std::string deep = scratch.path() + "/deep";
  for (int i = 0; i < 100; ++i) deep += "/d";
  fs::create_directories(deep);
  const auto entries = list(scratch.path());
  EXPECT_EQ(heard.text(), "");
  std::size_t wanted = 1;
  for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(scratch.path())) ++wanted;
  ASSERT_EQ(entries.size(), wanted);
  EXPECT_EQ(entries[0].path, "");
  for (std::size_t i = 1; i < entries.size(); ++i) {
    EXPECT_TRUE(precedes(entries[i - 1].path, entries[i].path)) << entries[i].path;
  }
}

TEST_F(CheckerTest, FollowsTheNameThatIsGivenAndNoOther) {
  fs::create_directories(scratch / "d/in");
  write_file(scratch / "d/in/f", "x");
  fs::create_directory_symlink("d", scratch / "to-d");
  fs::create_directory_symlink("in", scratch / "d/to-in");
  fs::create_symlink("in/f", scratch / "d/to-f");
  const auto entries = list(scratch / "to-d");
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[4].type, EntryType::symlink);
  EXPECT_EQ(entries[4].link_target, "in");
  EXPECT_EQ(list(scratch / "d/to-f").front().type, EntryType::file);
  EXPECT_EQ(ask(scratch / "d", {"to-in/f", 0, kToTheEnd, 0}).state, SumState::missing);
  EXPECT_EQ(ask(scratch / "d", {"../d/in/f", 0, kToTheEnd, 0}).digests.size(), 0u);
  EXPECT_EQ(ask(scratch / "d", {"/etc/passwd", 0, kToTheEnd, 0}).digests.size(), 0u);
  const SumFound link = ask(scratch / "d", {"to-f", 0, kToTheEnd, 0});
  EXPECT_EQ(link.type, EntryType::symlink);
  ASSERT_EQ(link.digests.size(), 1u);
  EXPECT_EQ(link.digests[0], digest("in/f"));
}

TEST_F(CheckerTest, DigestsOfPartsAndOfTheWhole) {
  const std::string content = test_bytes(300'000);
  write_file(scratch / "f", content);
  const SumFound whole = ask(scratch.path(), {"f", 0, kToTheEnd, 0});
  EXPECT_EQ(whole.size, content.size());
  ASSERT_EQ(whole.digests.size(), 1u);
  EXPECT_EQ(whole.digests[0], digest(content));
  EXPECT_EQ(ask(scratch / "f", {"", 0, kToTheEnd, 0}).digests, whole.digests);
  for (const std::uint64_t unit : {1ull, 4096ull, 5000ull}) {
    const SumFound parts = ask(scratch.path(), {"f", 4096, unit * 20 + 1, unit});
    ASSERT_EQ(parts.digests.size(), 21u);
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(parts.digests[i], digest(std::string_view(content).substr(4096 + i * unit, unit)));
    }
  }
  EXPECT_EQ(ask(scratch.path(), {"f", 0, kToTheEnd, 1}).digests.size(), kSumsMax);
  EXPECT_EQ(ask(scratch.path(), {"f", content.size() + 1, 10, 1}).digests.size(), 0u);
  EXPECT_EQ(ask(scratch.path(), {"f", ~0ull, ~0ull, ~0ull}).digests.size(), 0u);
  EXPECT_EQ(ask(scratch.path(), {"f", 0, 0, 0}).digests.size(), 0u);
  EXPECT_EQ(heard.text(), "");
}

TEST_F(CheckerTest, WithoutLeaveNothingIsListed) {
  std::atomic<int> pages{0};
  Checker checker({.number = 3, .path = scratch.path()}, heard.reporter,
                  {[&](const Listed& page) {
                     EXPECT_EQ(page.job, 3u);
                     ++pages;
                     pages.notify_all();
                   },
                   [](const SumTold&) {}});
  EXPECT_EQ(pages, 0);
  checker.list_more(1);
  pages.wait(0);
  checker.stop();
  EXPECT_TRUE(checker.has_ended(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  EXPECT_EQ(pages, 1);
}

// Whoever reads them, pages come in the list's order.
TEST_F(CheckerTest, SmallFilesAreListedWithTheirDigests) {
  for (int i = 0; i < 3000; ++i) {
    const std::string folder = scratch / std::to_string(i % 7);
    fs::create_directories(folder);
    write_file(folder + "/" + std::to_string(i), i % 50 == 0 ? "" : test_bytes(i % 500 == 1 ? 200'000 : i));
  }
  write_file(scratch / "large", test_bytes((256 << 10) + 1));
  fs::create_symlink("large", scratch / "link");
  const auto entries = read({.number = 1, .path = scratch.path(), .digests = true});
  ASSERT_EQ(entries.size(), 3000u + 7 + 3);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const ListedEntry& entry = entries[i];
    ASSERT_TRUE(precedes(entries[i - 1].path, entry.path)) << entry.path;
    const bool small = entry.type == EntryType::file && entry.size > 0 && entry.path != "large";
    ASSERT_EQ(entry.has_digest, small) << entry.path;
    if (small) {
      ASSERT_EQ(entry.digest, digest(content_of(scratch / entry.path))) << entry.path;
    }
  }
  EXPECT_EQ(heard.text(), "");
}

// However an entry is reached: a small file whose bytes are read as well, or another one by its name.
TEST_F(CheckerTest, AttributesAreDigested) {
  const std::string folder = scratch / "d";
  fs::create_directory(folder);
  write_file(folder + "/empty", "");
  write_file(folder + "/small", "x");
  fs::create_symlink("small", folder + "/link");
  const auto attributes = [&](bool digests) {
    std::map<std::string, std::array<std::byte, 16>> found;
    for (const ListedEntry& entry : read({.path = folder, .attributes = true, .digests = digests})) {
      found[entry.path] = entry.attributes;
    }
    return found;
  };
  const std::array<std::byte, 16> none{};
  for (const auto& [path, found] : attributes(true)) EXPECT_EQ(found, none) << path;
  std::vector<std::string> changed{"", "empty", "small"};
  for (const std::string& path : changed) {
    if (::setxattr((folder + "/" + path).c_str(), "user.a", "1", 1, 0) != 0) GTEST_SKIP() << "no xattrs here";
  }
  const auto one = attributes(false);
  EXPECT_EQ(attributes(true), one);
  EXPECT_EQ(one.at("link"), none);
  for (const std::string& path : changed) {
    EXPECT_NE(one.at(path), none) << path;
    ASSERT_EQ(::setxattr((folder + "/" + path).c_str(), "user.a", "2", 1, 0), 0);
  }
  const auto two = attributes(true);
  EXPECT_EQ(attributes(false), two);
  for (const std::string& path : changed) EXPECT_NE(two.at(path), one.at(path)) << path;
  for (const ListedEntry& entry : read({.path = folder, .digests = true})) {
    EXPECT_EQ(entry.attributes, none) << entry.path;
  }
  for (const ListedEntry& entry : read({.path = folder, .attributes = true}, {.follow_links = true})) {
    EXPECT_EQ(entry.attributes, two.at(entry.path == "link" ? "small" : entry.path)) << entry.path;
  }
  EXPECT_EQ(heard.text(), "");
}

// A verified copy in one process, where each file comes through the disk, and through memory.
TEST_F(CheckerTest, AVerifiedCopyIsTheSameCopy) {
  fs::create_directories(scratch / "from/d");
  for (const std::size_t size : {0, 1, 4096, 5000, 65536, 65537, 300'001}) {
    write_file(scratch / ("from/d/f" + std::to_string(size)), test_bytes(size, size));
  }
  for (int i = 0; i < 400; ++i) write_file(scratch / ("from/s" + std::to_string(i)), test_bytes(i));
  CopyCase copy;
  copy.sources = {scratch / "from"};
  copy.verify = true;
  for (const io::RingChoice ring : {io::RingChoice::automatic, io::RingChoice::thread_pool}) {
    for (const io::CacheMode cache : {io::CacheMode::automatic, io::CacheMode::keep}) {
      copy.ring = ring;
      copy.cache = cache;
      copy.destination =
          scratch / ("to" + std::to_string(static_cast<int>(ring) * 4 + static_cast<int>(cache)));
      EXPECT_TRUE(run_copy(copy, heard).complete());
      EXPECT_EQ(heard.text(), "");
      for (const auto& entry : fs::recursive_directory_iterator(scratch / "from")) {
        const std::string found =
            copy.destination + "/" + fs::relative(entry.path(), scratch / "from").string();
        if (!entry.is_regular_file()) continue;
        EXPECT_EQ(content_of(found), content_of(entry.path())) << found;
      }
    }
  }
}

}  // namespace
}  // namespace rdcp::tree
