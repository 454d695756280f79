#include "cli/pipes/key_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "io/fd.h"
#include "io/secret.h"

namespace rdcp::cli {
namespace {

// A pipe that holds `text`, at its end.
io::Fd holding(std::string_view text) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const io::Fd in(ends[1]);
  EXPECT_EQ(::write(in.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return io::Fd(ends[0]);
}

io::Result<io::SecretText> key_of_descriptor(std::string_view text) {
  const io::Fd fd = holding(text);
  return read_key({.word = {}, .file = {}, .fd = fd.get()});
}

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    const int fd = ::mkstemp(path_.data());
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::write(fd, "the key\nmore\n", 13), 13);
    ::close(fd);
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  io::Result<io::SecretText> read() const { return read_key({.word = {}, .file = path_, .fd = -1}); }

  std::string path_ = "/tmp/rdcp-key-XXXXXX";
};

TEST_F(KeyFile, ItsFirstLine) {
  const auto key = read();
  ASSERT_TRUE(key) << key.error().message();
  EXPECT_EQ(*key, "the key");
}

TEST_F(KeyFile, OneThatOthersMayUseIsRefused) {
  for (const mode_t mode : {0640, 0620, 0604, 0602}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const auto key = read();
    ASSERT_FALSE(key) << std::oct << mode;
    EXPECT_EQ(key.error().kind, io::ErrorKind::usage);
  }
}

TEST_F(KeyFile, MissingIsNoUsageError) {
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const auto key = read();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, ENOENT);
}

TEST_F(KeyFile, RootFollowsNobodyElsesLink) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link for somebody else";
  const std::string link = path_ + ".link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_TRUE(read_key({.word = {}, .file = link, .fd = -1}));
  EXPECT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  const auto key = read_key({.word = {}, .file = link, .fd = -1});
  ::unlink(link.c_str());
  ASSERT_FALSE(key);
  EXPECT_NE(key.error().message().find("belongs to another user"), std::string::npos);
}

TEST_F(KeyFile, NothingButAFileIsWaitedFor) {
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  // Where it is waited for, somebody comes in the end: the test fails, and does not hang.
  const io::Fd here(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::write(here.get(), "key\n", 4), 4);
  const auto key = read();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().kind, io::ErrorKind::file);
  EXPECT_NE(key.error().message().find("--key-fd"), std::string::npos);
}

TEST(KeyDescriptor, OneLineAndNotAByteMore) {
  const io::Fd fd = holding("the key\nthe data");
  const auto key = read_key({.word = {}, .file = {}, .fd = fd.get()});
  ASSERT_TRUE(key) << key.error().message();
  EXPECT_EQ(*key, "the key");
  char rest[20] = {};
  EXPECT_EQ(::read(fd.get(), rest, sizeof rest), 8);
  EXPECT_STREQ(rest, "the data");
}

TEST(KeyDescriptor, TheEndEndsALine) {
  EXPECT_EQ(key_of_descriptor("the key").value(), "the key");
}

TEST(KeyDescriptor, EmptyOrEndlessIsRefused) {
  EXPECT_EQ(key_of_descriptor("").error().kind, io::ErrorKind::usage);
  EXPECT_EQ(key_of_descriptor("\nkey\n").error().kind, io::ErrorKind::usage);
  EXPECT_EQ(key_of_descriptor(std::string(5000, 'k')).error().kind, io::ErrorKind::usage);
}

TEST(WipeKey, EachWordThatIsTheKey) {
  char program[] = "k", port[] = "12", key[] = "k", longer[] = "kk", again[] = "k";
  char* argv[] = {program, port, key, longer, again, nullptr};
  wipe_key(5, argv, std::string("k"));
  EXPECT_STREQ(program, "k");
  EXPECT_STREQ(port, "12");
  EXPECT_STREQ(key, "");
  EXPECT_STREQ(longer, "kk");
  EXPECT_STREQ(again, "");
}

}  // namespace
}  // namespace rdcp::cli
