// A source that breaks the protocol, against a real Target: an error each, and nothing written outside.
#include <cstring>

#include "tests/tree/target/hostile_fixture.h"

namespace rdcp::tree {
namespace {

TEST_F(HostileTest, PathsThatLeaveTheRoot) {
  for (const char* path : {"../outside/x", "/etc/rdcp-test", "a/../../outside/x", "a/./b", "..", "a//b"}) {
    Heard said;
    attack({frame_of(net::FrameKind::archive,
                     raw_archive([&](archive* writer) { add_file(writer, path, "evil"); }))});
    EXPECT_FALSE(complete) << path;
    EXPECT_TRUE(names_in(scratch / "root").empty()) << path;
    EXPECT_TRUE(names_in(scratch / "outside").empty()) << path;
  }
  EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"outside", "root"}));
}

TEST_F(HostileTest, ASymlinkIsNotWrittenThrough) {
  attack({frame_of(net::FrameKind::archive, raw_archive(
                                                [](archive* writer) {
                                                  add_link(writer, "link", "../outside", false);
                                                  add_file(writer, "link/x", "evil");
                                                },
                                                2))});
  ASSERT_FALSE(heard.problems().empty());
  EXPECT_TRUE(names_in(scratch / "outside").empty());
}

TEST_F(HostileTest, ALargeFileIsNotOpenedThroughASymlink) {
  Sent open = frame_of(net::FrameKind::open, header_of("link/x"));
  open.frame.file_id = 1;
  open.frame.offset = 1000;
  attack({frame_of(net::FrameKind::archive,
                   raw_archive([](archive* writer) { add_link(writer, "link", "../outside", false); })),
          open});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1], net::AckStatus::refused);
  EXPECT_TRUE(names_in(scratch / "outside").empty());
}

TEST_F(HostileTest, AHardLinkToTheOutside) {
  write_file(scratch / "secret", "secret");
  attack({frame_of(net::FrameKind::archive,
                   raw_archive([](archive* writer) { add_link(writer, "mine", "../secret", true); }))});
  EXPECT_FALSE(complete);
  EXPECT_TRUE(names_in(scratch / "root").empty());
  EXPECT_EQ(status_of(scratch / "secret").st_nlink, 1u);
}

TEST_F(HostileTest, BytesForAFileThatIsNotOpen) {
  Sent data = frame_of(net::FrameKind::data, std::vector<std::byte>(100));
  data.frame.file_id = 77;
  attack({data});
  expect_refused();
}

TEST_F(HostileTest, ExtentsOutsideTheFile) {
  const std::uint64_t bad_offsets[] = {4096, 8192, ~std::uint64_t{0} - 4095, std::uint64_t{1} << 63};
  for (const std::uint64_t offset : bad_offsets) {
    Sent open = frame_of(net::FrameKind::open, header_of("file"));
    open.frame.file_id = 1;
    open.frame.offset = 5000;
    Sent data = frame_of(net::FrameKind::data, std::vector<std::byte>(1000));
    data.frame.file_id = 1;
    data.frame.offset = offset;
    attack({open, data});
    EXPECT_FALSE(complete) << offset;
    EXPECT_TRUE(names_in(scratch / "root").empty()) << offset;
  }
}

TEST_F(HostileTest, AFileOpenedTwice) {
  Sent open = frame_of(net::FrameKind::open, header_of("file"));
  open.frame.file_id = 1;
  open.frame.offset = 5000;
  attack({open, open});
  expect_refused();
}

TEST_F(HostileTest, MoreOpenFilesThanAnySourceHas) {
  std::vector<Sent> frames;
  for (std::size_t i = 0; i <= TargetFiles::kOpenMax; ++i) {
    Sent open = frame_of(net::FrameKind::open, header_of(("f" + std::to_string(i)).c_str()));
    open.frame.file_id = i + 1;
    open.frame.offset = 1;
    frames.push_back(open);
  }
  attack(frames);
  expect_refused();
}

TEST_F(HostileTest, ACommitThatIsMissingAChunk) {
  Sent open = frame_of(net::FrameKind::open, header_of("file"));
  open.frame.file_id = 1;
  open.frame.offset = 5000;
  Sent commit = frame_of(net::FrameKind::commit, header_of("file"));
  commit.frame.file_id = 1;
  commit.frame.offset = 5000;
  io::FileDigest claimed;
  claimed.add(0, 5000, io::digest_of(std::vector<std::byte>(5000)));
  commit.frame.extra = claimed.value();
  attack({open, commit});
  expect_refused(io::ErrorKind::digest);
  EXPECT_TRUE(names_in(scratch / "root").empty());
}

TEST_F(HostileTest, ACommitUnderAnotherName) {
  Sent open = frame_of(net::FrameKind::open, header_of("file"));
  open.frame.file_id = 1;
  open.frame.offset = 0;
  Sent commit = frame_of(net::FrameKind::commit, header_of("other"));
  commit.frame.file_id = 1;
  commit.frame.extra = io::FileDigest().value();
  attack({open, commit});
  expect_refused();
  EXPECT_TRUE(names_in(scratch / "root").empty());
}

TEST_F(HostileTest, AKernelCopyOverTheNetwork) {
  Sent open = frame_of(net::FrameKind::open, header_of("file"));
  open.frame.file_id = 1;
  open.frame.offset = 5000;
  Sent copy = frame_of(net::FrameKind::copy_range);
  copy.frame.file_id = 1;
  const std::int64_t fd = 0;
  const std::uint64_t length = 5000;
  std::memcpy(copy.frame.extra.bytes.data(), &fd, sizeof fd);
  std::memcpy(copy.frame.extra.bytes.data() + 8, &length, sizeof length);
  attack({open, copy});
  expect_refused();
}

TEST_F(HostileTest, Garbage) {
  attack({frame_of(net::FrameKind::archive, std::vector<std::byte>(5000, std::byte{0x5a}))});
  expect_refused();
}

TEST_F(HostileTest, AnImpossibleSize) {
  Sent open = frame_of(net::FrameKind::open, header_of("file"));
  open.frame.file_id = 1;
  open.frame.offset = ~std::uint64_t{0};
  attack({open});
  expect_refused();
}

}  // namespace
}  // namespace rdcp::tree
