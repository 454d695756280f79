// A source played by hand against a real Target.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/tree/copy/copy_fixture.h"
#include "tree/archive/archive.h"

namespace rdcp::tree {

inline constexpr std::uint32_t kChunk = 64 << 10;
inline constexpr std::uint32_t kSlots = 4;

struct Sent {
  net::Frame frame;
  std::vector<std::byte> payload;
  std::size_t stream = 0;
};

inline Sent frame_of(net::FrameKind kind, std::vector<std::byte> payload = {}) {
  Sent sent;
  sent.frame.kind = kind;
  sent.frame.length = static_cast<std::uint32_t>(payload.size());
  if (!payload.empty()) sent.frame.digest = io::digest_of(payload);
  sent.payload = std::move(payload);
  return sent;
}

// What libarchive writes without asking whether it is wise, with the table of times that belongs behind it.
inline std::vector<std::byte> raw_archive(const std::function<void(archive*)>& fill,
                                          std::uint8_t entries = 1) {
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

inline void add_file(archive* writer, const char* path, const char* content) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, path);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, static_cast<la_int64_t>(std::strlen(content)));
  archive_write_header(writer, entry);
  archive_write_data(writer, content, std::strlen(content));
  archive_entry_free(entry);
}

inline void add_link(archive* writer, const char* path, const char* target, bool hard) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, path);
  archive_entry_set_filetype(entry, hard ? AE_IFREG : AE_IFLNK);
  archive_entry_set_perm(entry, 0644);
  hard ? archive_entry_set_hardlink(entry, target) : archive_entry_set_symlink(entry, target);
  archive_write_header(writer, entry);
  archive_entry_free(entry);
}

inline std::vector<std::byte> header_of(const char* path) {
  return raw_archive([=](archive* writer) { add_file(writer, path, ""); });
}

struct HostileTest : testing::Test {
  HostileTest() {
    std::filesystem::create_directories(scratch / "root");
    std::filesystem::create_directories(scratch / "outside");
  }

  // Sends the frames one after another and waits for each answer, as far as the target lets it; at last ends
  // the streams that are left.
  void attack(const std::vector<Sent>& frames, std::size_t stream_count = 1) {
    TargetJob job;
    job.settings = settings;
    job.settings.chunk_bytes = kChunk;
    job.streams.connect = Connect::listen;
    job.path = root;
    job.tree = tree;
    Target target(job, heard.reporter);
    target.open();
    Begin begin;
    begin.landings = landings;
    begin.streams = static_cast<std::uint16_t>(stream_count);
    ASSERT_TRUE(target.begin(begin).ok());
    const net::StreamShape shape{.target_slots = kSlots, .slot_bytes = kChunk};
    auto ring = io::make_ring(io::RingChoice::automatic, 8);
    auto arena = io::Arena::create(1, kChunk);  // of no use to a memory stream's source
    std::vector<StreamMaker> makers;
    std::vector<std::unique_ptr<net::Stream>> streams;
    for (std::size_t i = 0; i < stream_count; ++i) {
      const StreamEnds ends = join_in_memory(shape, nullptr);
      makers.push_back(ends.target);
      streams.push_back(ends.source(**ring, *arena));
    }
    std::thread receiving([&] { target.copy(makers, {.target_slots = kSlots, .slot_bytes = kChunk}); });
    for (const auto& stream : streams) stream->start();
    const auto send_all = [&]() -> io::Task {
      for (const Sent& sent : frames) {
        net::Stream& stream = *streams[sent.stream];
        const auto slot = co_await stream.credit();
        if (!slot) continue;
        net::Frame frame = sent.frame;
        frame.slot = *slot;
        const auto done = co_await stream.send(frame, sent.payload);
        if (!done) continue;
        const auto answer = co_await stream.acknowledged(*slot);
        if (answer) answers.push_back(*answer);
      }
      for (const auto& stream : streams) {
        const auto ended = co_await stream->send(net::Frame{}, {});
        (void)ended.ok();
      }
    };
    io::Task task = send_all();
    task.start();
    const auto idle = [&] {
      return std::ranges::all_of(streams, [](const auto& stream) { return stream->idle(); });
    };
    while (!task.done() || !idle()) ASSERT_TRUE((*ring)->run_once(std::chrono::milliseconds(100)).ok());
    receiving.join();
    result = target.result();
    complete = result.complete;
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
  CopySettings settings;
  std::vector<std::string> landings = {""};  // as the coordinator tells the target
  bool tree = true;                          // directories, symlinks and all
  std::string root = scratch / "root";
  std::vector<net::AckStatus> answers;
  Done result;
  bool complete = false;
};

}  // namespace rdcp::tree
