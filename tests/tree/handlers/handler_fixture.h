// A target's session and context without a source: handlers are asked directly.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/step.h"
#include "net/stream/memory_stream.h"
#include "tests/io/run_task.h"
#include "tests/tree/heard.h"
#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"
#include "tree/archive/archive.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

inline constexpr std::uint32_t kHandlerChunk = 256 << 10;
inline constexpr std::uint64_t kFileId = 7;  // of the one file that a test opens

class HandlerTest : public testing::Test {
 protected:
  // The job is changed before anything else is asked of the fixture; the root is the scratch directory.
  void begin() {
    job.settings.chunk_bytes = kHandlerChunk;
    job.streams.connect = Connect::listen;
    job.tree = true;
    job.path = scratch.path();
    session.emplace(job, heard.reporter);
    session->place.root.reset(::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    session->place.name = "DST";
    session->place.is_directory = true;
    session->guards.admitted = AdmittedNames::all();
    session->guards.terms = terms_of(job, 1, false, false);
    session->guards.removals.begin(session->place.root.get(), Filter(), "", 0, 0);
    session->guards.spellings.begin(session->place.root.get(), "");
    session->streams.begin(1);
    context.emplace(*session, 0, net::StreamShape{.target_slots = 2, .slot_bytes = kHandlerChunk});
    context->ring = std::move(io::make_ring(io::RingChoice::automatic, 16)).value();
    arena.emplace(std::move(io::Arena::create(2, kHandlerChunk)).value());
    context->stream =
        net::make_memory_target(*context->ring, net::make_memory_channel(), context->shape, *arena);
    context->files = std::make_unique<RegisteredFiles>(*context->ring);
    context->turns = std::make_unique<io::WaitList>(*context->ring);
    if (job.settings.verify) {
      context->read_back = std::make_unique<ReadBack>(*context->ring);
      ASSERT_TRUE(context->read_back->start());
    }
  }
  void TearDown() override {
    if (!context) return;
    context->files->detach();
    context->stream.reset();
    context->ring.reset();
    context->read_back.reset();
  }

  // What a step gives.
  template <class T>
  T run(io::Step<T> step) {
    std::optional<T> result;
    io::Task task = [](io::Step<T> awaited, std::optional<T>& into) -> io::Task {
      T value = co_await awaited;
      into = std::move(value);
    }(std::move(step), result);
    io::run_task(*context->ring, task);
    return std::move(*result);
  }

  static Entry file_entry(const std::string& path, std::uint64_t size = 0) {
    Entry entry;
    entry.type = EntryType::file;
    entry.path = own(path);
    entry.mode = 0644;
    entry.uid = ::geteuid();
    entry.gid = ::getegid();
    entry.size = size;
    entry.mtime = {1'600'000'000, 5};
    return entry;
  }
  static Entry link_entry(const std::string& path, const std::string& to) {
    Entry entry = file_entry(path);
    entry.type = EntryType::hard_link;
    entry.first_name = own(to);
    return entry;
  }

  struct Packed {
    Entry entry;
    std::string content;
  };
  static std::vector<std::byte> archive_of(const std::vector<Packed>& files) {
    std::vector<std::byte> slot(kHandlerChunk);
    ArchiveWriter writer;
    writer.begin(slot);
    for (const Packed& file : files) {
      Entry entry = file.entry;
      entry.size = file.content.size();
      EXPECT_TRUE(writer.add(entry, std::as_bytes(std::span(file.content))).value());
    }
    slot.resize(writer.finish().value());
    return slot;
  }
  // The payload of an open or commit frame.
  static std::vector<std::byte> header_for(const std::string& path) {
    return archive_of({{file_entry(path), ""}});
  }

  static net::Frame frame_for(net::FrameKind kind, std::uint64_t file_id, std::uint64_t offset) {
    net::Frame frame;
    frame.kind = kind;
    frame.file_id = file_id;
    frame.offset = offset;
    return frame;
  }
  // A data frame whose bytes lie in the slot.
  net::Frame data_in_slot(std::uint64_t file_id, std::uint64_t offset, std::string_view bytes) {
    std::memcpy(slot().data(), bytes.data(), bytes.size());
    net::Frame frame = frame_for(net::FrameKind::data, file_id, offset);
    frame.length = static_cast<std::uint32_t>(bytes.size());
    frame.digest = io::digest_of(std::as_bytes(std::span(bytes)));
    return frame;
  }
  std::span<std::byte> slot() { return arena->slot(0); }

  // The run has ended for a fault of the source that is told in these words.
  void expect_protocol_error(std::string_view words) {
    EXPECT_TRUE(session->refusing());
    ASSERT_EQ(heard.problems().size(), 1u) << heard.text();
    EXPECT_EQ(heard.problems()[0].kind, io::ErrorKind::protocol);
    EXPECT_NE(heard.text().find(words), std::string::npos) << heard.text();
  }

  ScratchDirectory scratch;
  Heard heard;
  TargetJob job;
  std::optional<TargetSession> session;
  std::optional<TargetContext> context;
  std::optional<io::Arena> arena;
};

}  // namespace rdcp::tree
