// Streams that are added in the middle of a copy, and rest or take part in it.
#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "tests/tree/copy/memory_meeting.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr std::size_t kFileBytes = 4 << 20;

// Wants more streams once something has arrived; and once these are there, as many as it is told to. All
// chunks but the first wait until that is so.
class Script : public StreamPolicy {
 public:
  Script(std::size_t more, std::size_t then) : more_(more), then_(then) {}

  std::optional<std::size_t> take(Clock::time_point, std::uint64_t bytes, std::size_t living) override {
    const std::lock_guard lock(mutex_);
    switch (step_) {
      case Step::ask:
        if (bytes == 0) return std::nullopt;
        step_ = Step::wait;
        return more_;
      case Step::wait:
        if (living < more_) return std::nullopt;
        step_ = Step::release;
        return then_;
      case Step::release:
        step_ = Step::over;
        changed_.notify_all();
        return std::nullopt;
      case Step::over:
        break;
    }
    return std::nullopt;
  }
  std::string outcome() const override { return "it was tried"; }

  bool let_pass() {
    std::unique_lock lock(mutex_);
    if (passed_++ == 0) return true;
    return changed_.wait_for(lock, seconds(60), [this] { return step_ == Step::over; });
  }

 private:
  enum class Step : std::uint8_t { ask, wait, release, over };
  const std::size_t more_, then_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Step step_ = Step::ask;
  int passed_ = 0;
};

struct FurtherStreamsTest : testing::TestWithParam<bool> {
  FurtherStreamsTest() {
    write_file(scratch / "large", test_bytes(kFileBytes));
    copy.sources = {scratch / "large"};
    copy.destination = scratch / "to";
    copy.recursive = false;
    copy.streams = 2;
    copy.retry_seconds = 60;
    copy.cache = io::CacheMode::bypass;  // so that chunks go over all streams
  }

  CopyResult run(std::size_t more, std::size_t then) {
    MemoryMeeting meeting({.target_slots = copy.depth, .slot_bytes = copy.chunk_bytes}, GetParam());
    auto owned = std::make_unique<Script>(more, then);
    Script& script = *owned;
    meeting.tap = [&](net::Frame& frame, std::span<std::byte>) {
      if (frame.kind == net::FrameKind::data) {
        EXPECT_TRUE(script.let_pass());
        ++carried_by_added;
      }
      return true;
    };
    copy.tap = [&, inner = copy.tap](net::Frame& frame, std::span<std::byte> payload) {
      if (frame.kind == net::FrameKind::data) {
        EXPECT_TRUE(script.let_pass());
      }
      return !inner || inner(frame, payload);
    };
    copy.further = {&meeting.source, &meeting.target};
    copy.prepare = [&](Source& source, Target& target) {
      source.let_streams_grow(std::move(owned), [&](std::size_t streams) {
        ++told;
        target.use_streams(streams);
      });
    };
    return run_copy(copy, heard);
  }
  void expect_whole(const CopyResult& result) {
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(content_of(scratch / "to") == test_bytes(kFileBytes));
    EXPECT_EQ(told > 0, !GetParam()) << "whoever does not connect is told";
    ASSERT_EQ(result.source.notes.size(), 1u);
    EXPECT_EQ(std::string(result.source.notes[0]), "it was tried");
  }

  ScratchDirectory scratch;
  Heard heard;
  CopyCase copy;
  std::atomic<int> carried_by_added{0}, told{0};
};
INSTANTIATE_TEST_SUITE_P(, FurtherStreamsTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "SourceConnects" : "TargetConnects"; });

TEST_P(FurtherStreamsTest, ThoseThatAreAddedCarryChunks) {
  const CopyResult result = run(4, 4);
  expect_whole(result);
  EXPECT_GT(carried_by_added, 0);
  EXPECT_TRUE(result.source.lost_streams.empty());
  EXPECT_TRUE(result.target.lost_streams.empty());
}

// They may have begun with as many chunks as they have slots for.
TEST_P(FurtherStreamsTest, ThoseThatRestBeginWithNothingAndEndInOrder) {
  const CopyResult result = run(4, 2);
  expect_whole(result);
  EXPECT_LE(carried_by_added, 2 * static_cast<int>(copy.depth));
  EXPECT_TRUE(result.source.lost_streams.empty());
  EXPECT_TRUE(result.target.lost_streams.empty());
}

// One worker writes such a file into the page cache, unless it rests.
TEST_P(FurtherStreamsTest, FilesOfThoseThatRestAreFinishedByOthers) {
  copy.recursive = true;
  copy.cache = io::CacheMode::keep;
  fs::create_directory(scratch / "from");
  for (int i = 0; i < 8; ++i) {
    write_file(scratch / ("from/" + std::to_string(i)), test_bytes(20 * copy.chunk_bytes, i));
  }
  copy.sources = {scratch / "from/"};
  const CopyResult result = run(4, 2);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(heard.text(), "");
  EXPECT_GT(carried_by_added, 0);
  EXPECT_LE(carried_by_added, 2 * static_cast<int>(copy.depth));
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(content_of(scratch / ("to/" + std::to_string(i))) == test_bytes(20 * copy.chunk_bytes, i));
  }
}

TEST_P(FurtherStreamsTest, ThoseThatRestTakeTheLostOnesPlace) {
  std::atomic<int> chunks{0};
  copy.tap = [&](net::Frame& frame, std::span<std::byte>) {
    return frame.kind != net::FrameKind::data || chunks++ < 10;  // then both of the first ones are cut
  };
  const CopyResult result = run(4, 2);
  expect_whole(result);
  EXPECT_EQ(result.source.lost_streams.size(), 2u);
  EXPECT_GT(carried_by_added, 2 * static_cast<int>(copy.depth));
}

}  // namespace
}  // namespace rdcp::tree
