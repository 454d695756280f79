// Names that differ in upper and lower case only, for a target that takes them for one.
#include "tree/fs/spellings.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <filesystem>

#include "tests/tree/copy/copy_fixture.h"
#include "tests/tree/meta/own_path.h"
#include "tree/fs/own_names.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

TEST(FoldCase, LettersAreInUpperCaseAndOtherBytesAsTheyAre) {
  EXPECT_EQ(fold_case("read-Me.txt"), "READ-ME.TXT");
  EXPECT_EQ(fold_case("\xc3\xa4\xd1\x8f"), "\xc3\x84\xd0\xaf");  // a with dots, Cyrillic ya
  EXPECT_EQ(fold_case("a\xff"
                      "b\xc3"),
            "A\xff"
            "B\xc3");
  EXPECT_EQ(fold_case(""), "");
}

// Where the marker's name in upper case is found, names are taken for one; here it is another file.
class SpellingsTest : public testing::Test {
 protected:
  SpellingsTest() {
    fs::create_directory(scratch / "from");
    fs::create_directory(scratch / "to");
  }
  void take_cases_for_one() { write_file(scratch / ("to/" + fold_case(marker)), ""); }
  CopyResult copy(bool sync, bool verify = false) {
    CopyCase copy;
    copy.sources = {scratch / "from/"};
    copy.destination = scratch / "to";
    copy.marker = marker;
    copy.sync.enabled = copy.sync.mirror = sync;
    copy.verify = verify;
    return run_copy(copy, heard);
  }
  std::size_t count_in_target(const std::vector<std::string>& names) {
    return static_cast<std::size_t>(std::ranges::count_if(
        names, [&](const std::string& name) { return fs::exists(scratch / ("to/" + name)); }));
  }

  ScratchDirectory scratch;
  Heard heard;
  const std::string marker = run_name("a test");
};

TEST_F(SpellingsTest, OfTwoSpellingsOneIsCopiedAndTheOtherToldOfWhateverTheyAre) {
  const std::string large = test_bytes(300'000);
  for (const char* name : {"from/a", "from/A"}) write_file(scratch / name, name);
  for (const char* name : {"from/large", "from/Large"}) write_file(scratch / name, large);
  for (const char* name : {"from/link", "from/LINK"}) fs::create_symlink(".", scratch / name);
  take_cases_for_one();
  for (const auto& [sync, verify] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    heard.clear();
    EXPECT_TRUE(copy(sync, verify).complete());
    EXPECT_EQ(heard.problems().size(), 3u) << heard.text();
    EXPECT_EQ(count_in_target({"a", "A"}), 1u);
    EXPECT_EQ(count_in_target({"large", "Large"}), 1u);
    EXPECT_EQ(count_in_target({"link", "LINK"}), 1u);
    for (const auto& entry : fs::directory_iterator(scratch / "to")) {
      if (entry.path().filename() != fold_case(marker)) fs::remove(entry.path());
    }
  }
}

TEST_F(SpellingsTest, WhatLiesInADirectoryOfAnotherSpellingIsToldToo) {
  for (const char* name : {"from/dir", "from/DIR"}) {
    fs::create_directory(scratch / name);
    write_file(scratch / (std::string(name) + "/" + (name[5] == 'd' ? "one" : "two")), "x");
  }
  take_cases_for_one();
  EXPECT_TRUE(copy(false).complete());
  EXPECT_EQ(heard.problems().size(), 2u) << heard.text();
  EXPECT_EQ(count_in_target({"dir", "DIR"}), 1u);
}

TEST_F(SpellingsTest, AnOrdinaryTargetTakesBoth) {
  for (const char* name : {"from/a", "from/A"}) write_file(scratch / name, name);
  EXPECT_TRUE(copy(false).complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(count_in_target({"a", "A"}), 2u);
}

TEST_F(SpellingsTest, ADirectoryThatFoldsCaseIsRecognized) {
  const ScopedMount mount(scratch / "to", "tmpfs", 0, "casefold");
  if (!mount)
    GTEST_SKIP() << "no root, or a kernel without case folding on tmpfs (Linux 6.13, CONFIG_UNICODE)";
  fs::create_directory(scratch / "to/folding");
  const io::Fd folding(::open((scratch / "to/folding").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int flags = FS_CASEFOLD_FL;
  if (::ioctl(folding.get(), FS_IOC_SETFLAGS, &flags) != 0) GTEST_SKIP() << "chattr +F is refused";
  for (const std::string& own_name : {std::string(), marker}) {
    Spellings spellings;
    spellings.begin(folding.get(), own_name);
    EXPECT_TRUE(spellings.claim(own("a/b"), "a/b").ok());
    EXPECT_TRUE(spellings.claim(own("a/b"), "a/b").ok());
    EXPECT_FALSE(spellings.claim(own("a/B"), "a/B").ok());
    EXPECT_FALSE(spellings.claim(own("A/c"), "A/c").ok());
  }
}

}  // namespace
}  // namespace rdcp::tree
