#include "cli/text/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cli/standard_output.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

const std::string kRaw = "a\x1b]0;x\x07\tb\xc2\x9b\u202e\xff\rc\nd\n";
const std::string kSeen = "a\\x1b]0;x\\x07\tb\\xc2\\x9b\\xe2\\x80\\xae\\xff\\x0dc\nd\n";

TEST(Output, NothingDrivesTheTerminal) {
  Redirected errors(STDERR_FILENO);
  write_to_stderr(kRaw);
  EXPECT_EQ(errors.text(), kSeen);
  Redirected output(STDOUT_FILENO);
  ASSERT_TRUE(write_to_stdout(kRaw));
  EXPECT_EQ(output.text(), kSeen);
}

TEST(Output, WhatWasEscapedBeforeIsLeft) {
  Redirected errors(STDERR_FILENO);
  write_to_stderr(kSeen);
  EXPECT_EQ(errors.text(), kSeen);
}

TEST(Output, ALineIsDrawnOverTheLastOne) {
  Redirected errors(STDERR_FILENO);
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {"50 % of a\x1b[2J\nb"}, 0));
  EXPECT_EQ(errors.text(), "\r50 % of a\\x1b[2J\\nb\033[K");
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {""}, 1));
  EXPECT_EQ(errors.text(), "\r\033[K");
}

TEST(Output, LinesAreDrawnOverThoseOfLastTime) {
  Redirected errors(STDERR_FILENO);
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {"50 %", "n1\x1b", "n2"}, 1));
  EXPECT_EQ(errors.text(), "\r50 %\033[K\n\rn1\\x1b\033[K\n\rn2\033[K\r\033[2A");
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {"51 %", "n1"}, 3));
  EXPECT_EQ(errors.text(), "\r51 %\033[K\n\rn1\033[K\033[J\r\033[1A");
  EXPECT_TRUE(draw_lines(STDERR_FILENO, {""}, 2));
  EXPECT_EQ(errors.text(), "\r\033[K\033[J");
}

TEST(Output, OurOwnWordsAreWrittenAsTheyAre) {
  Redirected errors(STDERR_FILENO);
  write_own_words({"a", ": b\n"});
  EXPECT_EQ(errors.text(), "a: b\n");
}

struct OutputFile : testing::Test {
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Returns the path of a link to `target` that belongs to another user.
  std::string link_of_another(const std::string& name, const std::string& target) const {
    std::string link = scratch / name;
    EXPECT_EQ(::symlink(target.c_str(), link.c_str()), 0);
    EXPECT_EQ(::lchown(link.c_str(), tree::kNobody, tree::kNobody), 0);
    return link;
  }
  std::size_t names() const {
    const auto all = std::filesystem::directory_iterator(scratch.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  tree::ScratchDirectory scratch;
};

TEST_F(OutputFile, AListIsReplacedAsAWhole) {
  const std::string path = scratch / "list", other = scratch / "other";
  ASSERT_TRUE(write_list(path, "h1\nh2\n", 027));
  EXPECT_EQ(content(path), "h1\nh2\n");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | 0640U);
  ASSERT_EQ(::link(path.c_str(), other.c_str()), 0);
  ASSERT_TRUE(write_list(path, "h3\n", 027));
  EXPECT_EQ(content(path), "h3\n");
  EXPECT_EQ(content(other), "h1\nh2\n") << "what else has the old file keeps it";
  EXPECT_EQ(names(), 2u) << "nothing else is left";
}

TEST_F(OutputFile, WhatIsNoFileIsWrittenInto) {
  const std::string fifo = scratch / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const io::Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  for (const std::string& path : {fifo, std::string("/dev/null")})
    ASSERT_TRUE(write_list(path, "h1\n", 022)) << path;
  std::array<char, 8> bytes{};
  EXPECT_EQ(
      std::string(bytes.data(), static_cast<std::size_t>(::read(reader.get(), bytes.data(), bytes.size()))),
      "h1\n");
  Redirected output(STDOUT_FILENO);
  for (const char* path : {"/dev/stdout", "/dev/fd/1"}) ASSERT_TRUE(write_list(path, "h2\n", 022));
  EXPECT_EQ(output.text(), "h2\nh2\n");
  EXPECT_FALSE(write_list(scratch.path(), "h1\n", 022));
  EXPECT_FALSE(write_list(scratch / "none/list", "h1\n", 022));
}

TEST_F(OutputFile, ALinkOfOnesOwnIsFollowed) {
  const std::string path = scratch / "list", link = scratch / "link";
  ASSERT_EQ(::symlink("list", link.c_str()), 0);
  for (const char* lines : {"h1\n", "h2\n"}) {
    ASSERT_TRUE(write_list(link, lines, 022));
    EXPECT_EQ(content(path), lines);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST_F(OutputFile, RootWritesThroughNobodyElsesLink) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  const std::string precious = scratch / "precious";
  std::ofstream(precious) << "precious";
  const std::string last = link_of_another("last", precious),
                    folder = link_of_another("folder", scratch.path());
  for (const std::string& path : {last, folder + "/precious", folder + "/new"}) {
    const auto list = write_list(path, "h1\n", 022), log = open_log(path, 022);
    ASSERT_FALSE(list) << path;
    ASSERT_FALSE(log) << path;
    EXPECT_NE(list.error().message().find("belongs to another user"), std::string::npos)
        << list.error().message();
  }
  EXPECT_EQ(content(precious), "precious");
  EXPECT_EQ(names(), 3u);
}

// As where a file is mounted by itself: no name can be made beside it.
TEST_F(OutputFile, WhereItsDirectoryCannotBeChangedAFileKeepsItsInode) {
  if (::geteuid() == 0) GTEST_SKIP() << "root can change every directory";
  const std::string path = scratch / "list";
  std::ofstream(path) << "a longer line\n";
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0500), 0);
  EXPECT_TRUE(write_list(path, "h1\n", 022));
  EXPECT_EQ(content(path), "h1\n");
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0700), 0);
}

}  // namespace
}  // namespace rdcp::cli
