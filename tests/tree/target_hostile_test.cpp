// A source that breaks the protocol, against a real Target: an error each, and nothing written outside.
#include <archive.h>
#include <archive_entry.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "tests/tree/copy_fixture.h"
#include "tree/archive.h"

namespace rdcp::tree {
namespace {

constexpr std::uint32_t kChunk = 64 << 10;
constexpr std::uint32_t kSlots = 4;

struct Sent {
  net::Frame frame;
  std::vector<std::byte> payload;
};

Sent frame_of(net::FrameKind kind, std::vector<std::byte> payload = {}) {
  Sent sent;
  sent.frame.kind = kind;
  sent.frame.length = static_cast<std::uint32_t>(payload.size());
  if (!payload.empty()) sent.frame.digest = io::digest_of(payload);
  sent.payload = std::move(payload);
  return sent;
}

// What libarchive writes without asking whether it is wise, with the table of times that belongs behind it.
std::vector<std::byte> raw_archive(const std::function<void(archive*)>& fill, std::uint8_t entries = 1) {
  std::vector<std::byte> bytes(kChunk);
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_pax(writer);
  archive_write_set_bytes_per_block(writer, 512);
  archive_write_set_bytes_in_last_block(writer, 512);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  fill(writer);
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used + 4 * entries);
  for (const std::uint8_t byte : {entries, std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}}) {
    bytes.push_back(std::byte{byte});
  }
  return bytes;
}

void add_file(archive* writer, const char* path, const char* content) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, path);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, static_cast<la_int64_t>(std::strlen(content)));
  archive_write_header(writer, entry);
  archive_write_data(writer, content, std::strlen(content));
  archive_entry_free(entry);
}

void add_link(archive* writer, const char* path, const char* target, bool hard) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, path);
  archive_entry_set_filetype(entry, hard ? AE_IFREG : AE_IFLNK);
  archive_entry_set_perm(entry, 0644);
  hard ? archive_entry_set_hardlink(entry, target) : archive_entry_set_symlink(entry, target);
  archive_write_header(writer, entry);
  archive_entry_free(entry);
}

std::vector<std::byte> header_of(const char* path) {
  return raw_archive([=](archive* writer) { add_file(writer, path, ""); });
}

struct HostileTest : testing::Test {
  HostileTest() {
    std::filesystem::create_directories(scratch / "root");
    std::filesystem::create_directories(scratch / "outside");
  }

  // Sends the frames one after another and waits for each answer, as far as the target lets it.
  void attack(const std::vector<Sent>& frames) {
    TargetJob job;
    job.settings.chunk_bytes = kChunk;
    job.streams.connect = Connect::listen;
    job.path = scratch / "root";
    Target target(job, heard.reporter);
    target.open();
    ASSERT_TRUE(target.begin(Begin()).ok());
    auto channel = net::make_memory_channel();
    const net::StreamShape shape{.target_slots = kSlots, .slot_bytes = kChunk};
    std::thread receiving([&] {
      target.copy({[=](io::Ring& ring, io::Arena& arena) {
                    return net::make_memory_target(ring, channel, shape, arena);
                  }},
                  shape);
    });
    auto ring = io::make_ring(io::RingChoice::automatic, 8);
    const auto stream = net::make_memory_source(**ring, channel, shape);
    stream->start();
    const auto send_all = [&]() -> io::Task {
      for (const Sent& sent : frames) {
        const auto slot = co_await stream->credit();
        if (!slot) co_return;
        net::Frame frame = sent.frame;
        frame.slot = *slot;
        const auto done = co_await stream->send(frame, sent.payload);
        if (!done) co_return;
        const auto answer = co_await stream->acknowledged(*slot);
        if (!answer) co_return;
        answers.push_back(*answer);
      }
      const auto ended = co_await stream->send(net::Frame{}, {});
      (void)ended.ok();
    };
    io::Task task = send_all();
    task.start();
    while (!task.done() || !stream->idle())
      ASSERT_TRUE((*ring)->run_once(std::chrono::milliseconds(100)).ok());
    receiving.join();
    complete = target.result().complete;
  }

  void expect_refused(io::ErrorKind kind = io::ErrorKind::protocol) {
    EXPECT_FALSE(complete);
    ASSERT_EQ(heard.problems().size(), 1u) << heard.text();
    EXPECT_EQ(heard.problems()[0].kind, kind) << heard.text();
    EXPECT_TRUE(names_in(scratch / "outside").empty());
    EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"outside", "root"}));
  }

  ScratchDirectory scratch;
  Heard heard;
  std::vector<net::AckStatus> answers;
  bool complete = false;
};

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
