// Bytes that are read back are compared one by one, also in holes.
#include "tree/session/read_back.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(ReadBack, EveryByteAndEveryHoleIsCompared) {
  const std::string first = test_bytes(5000, 1);
  const std::string second = test_bytes(700, 2);
  const std::vector<ArchiveReader::Block> blocks{{bytes_of(first), 1000}, {bytes_of(second), 9000}};
  std::string content(12'000, '\0');
  content.replace(1000, first.size(), first);
  content.replace(9000, second.size(), second);
  for (std::size_t piece : {content.size(), std::size_t{4096}, std::size_t{1}, std::size_t{999}}) {
    for (std::size_t at = 0; at < content.size(); at += piece) {
      EXPECT_TRUE(matches(blocks, at, bytes_of(content).subspan(at, std::min(piece, content.size() - at))));
    }
  }
  for (std::size_t at = 0; at < content.size(); at += 13) {
    content[at] = static_cast<char>(content[at] ^ 4);
    EXPECT_FALSE(matches(blocks, 0, bytes_of(content))) << at;
    content[at] = static_cast<char>(content[at] ^ 4);
  }
  EXPECT_TRUE(matches({}, 77, bytes_of(std::string(5000, '\0'))));
}

struct ReadBackFileTest : testing::Test {
  ScratchDirectory scratch;
};

TEST_F(ReadBackFileTest, AnOpenFileIsReadByAnotherDescriptor) {
  const io::Fd fd(::open((scratch / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::string content = test_bytes(8192);
  ASSERT_EQ(::pwrite(fd.get(), content.data(), content.size(), 0), 8192);
  const ReadBackFile back = open_read_back(fd.get());
  EXPECT_EQ(back.from_disk, io::supports_direct(fd.get()));
  EXPECT_EQ(back.file.fd == fd.get(), !back.from_disk);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & O_DIRECT, 0);
}

TEST_F(ReadBackFileTest, AWrittenFileIsTurned) {
  const io::Fd fd(::open((scratch / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::pwrite(fd.get(), "abc", 3, 0), 3);
  const ReadBackFile back = turn_to_read_back(fd.get());
  EXPECT_EQ(back.file.fd, fd.get());
  EXPECT_EQ((::fcntl(fd.get(), F_GETFL) & O_DIRECT) != 0, back.file.direct);
}

}  // namespace
}  // namespace rdcp::tree
