#include "cli/text/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "io/fd.h"

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ProgressState halfway() {
  return {.bytes_done = 12'340'000'000,
          .bytes_total = 45'600'000'000,
          .files_done = 1234,
          .files_total = 5678,
          .walk_finished = true,
          .path = "model/blobs/0123456789abcdef"};
}

TEST(ProgressLine, SeveralHostsAreCounted) {
  ProgressState state = halfway();
  state.path.clear();
  state.hosts = {.all = 16};
  EXPECT_EQ(progress_line(state, 3.21e9, 100),
            "27%  16 hosts  12.3/45.6 GB  1,234/5,678 files  3.21 GB/s  ETA 0:10");
  state.hosts = {.all = 16, .done = 2, .failed = 1};
  EXPECT_EQ(progress_line(state, 3.21e9, 75),
            "27%  13 hosts, 2 done, 1 failed  12.3/45.6 GB  3.21 GB/s  ETA 0:10");
  EXPECT_EQ(progress_line(state, 3.21e9, 45), "27%  13 hosts, 2 done, 1 failed  ETA 0:10");
  EXPECT_EQ(progress_line(state, 3.21e9, 30), "27%  ETA 0:10");
}

TEST(ProgressLine, TellsBytesFilesRateTimeAndPath) {
  EXPECT_EQ(progress_line(halfway(), 3.21e9, 100),
            "27%  12.3/45.6 GB  1,234/5,678 files  3.21 GB/s  ETA 0:10  model/blobs/0123456789abcdef");
}

TEST(ProgressLine, GrowingTotalsHaveAPlusAndNoTime) {
  ProgressState state = halfway();
  state.walk_finished = false;
  EXPECT_EQ(progress_line(state, 3.21e9, 65), "--%  12.3/45.6+ GB  1,234/5,678+ files  3.21 GB/s  ETA --:--");
}

TEST(ProgressLine, NothingDoneYetHasNoTime) {
  EXPECT_EQ(progress_line({}, 0, 80), "--%  0/0+ B  0/0+ files  0 B/s  ETA --:--");
}

TEST(ProgressLine, MoreDoneThanTotalIsNoNegativeTime) {
  ProgressState state = halfway();
  state.bytes_done = state.bytes_total + 5;
  EXPECT_NE(progress_line(state, 1e9, 80).find("ETA 0:00"), std::string::npos);
}

TEST(ProgressLine, NeverWiderThanTheTerminal) {
  ProgressState state = halfway();
  for (const char* path : {"", "short", "\xe6\x96\x87\xe4\xbb\xb6", "e\xcc\x81",
                           "d\xc3\xa4mlich/\xe2\x82\xac/\xf0\x9f\x98\x80", "\xff\n\x1b"}) {
    for (int times = 0; times < 40; ++times) state.path += path;
    for (std::size_t columns = 0; columns < 140; ++columns) {
      EXPECT_LE(cells_of(progress_line(state, 3.21e9, columns)), columns);
    }
  }
}

TEST(ProgressLine, KeepsPercentageAndTimeWhereColumnsAreFew) {
  EXPECT_EQ(progress_line(halfway(), 3.21e9, 40), "27%  12.3/45.6 GB  3.21 GB/s  ETA 0:10");
  EXPECT_EQ(progress_line(halfway(), 3.21e9, 30), "27%  3.21 GB/s  ETA 0:10");
  EXPECT_EQ(progress_line(halfway(), 3.21e9, 20), "27%  ETA 0:10");
  ProgressState state = halfway();
  state.bytes_done = state.bytes_total;
  EXPECT_TRUE(progress_line(state, 3.21e9, 20).starts_with("100%  "));
}

TEST(CellsOf, WideCharactersTakeTwoAndCombiningOnesNone) {
  EXPECT_EQ(cells_of(""), 0u);
  EXPECT_EQ(cells_of("abc"), 3u);
  EXPECT_EQ(cells_of("\xe6\x96\x87\xe4\xbb\xb6"), 4u);  // two Han characters
  EXPECT_EQ(cells_of("e\xcc\x81"), 1u);                 // e and a combining acute accent
  EXPECT_EQ(cells_of("\xf0\x9f\x98\x80"), 2u);          // an emoji
}

TEST(ShortenMiddle, CountsCellsNotCharacters) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "\xe6\x96\x87";
  for (std::size_t cells = 0; cells < 45; ++cells) EXPECT_LE(cells_of(shorten_middle(text, cells)), cells);
  EXPECT_EQ(shorten_middle(text, 9), "\xe6\x96\x87...\xe6\x96\x87\xe6\x96\x87");
  EXPECT_EQ(shorten_middle(text, 40), text);
}

TEST(ProgressLine, UsesTheWholeWidthForALongPath) {
  ProgressState state = halfway();
  state.path = std::string(300, 'x');
  EXPECT_EQ(progress_line(state, 3.21e9, 100).size(), 100u);
}

TEST(ProgressLine, PathIsMadePrintable) {
  ProgressState state = halfway();
  state.path = "a\nb\x1b[2Jc";
  const std::string line = progress_line(state, 1e9, 120);
  EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos);
  EXPECT_NE(line.find("a\\nb\\x1b[2Jc"), std::string::npos);
}

TEST(ShortenMiddle, KeepsBothEndsAndMoreOfTheLast) {
  EXPECT_EQ(shorten_middle("0123456789abcdef", 16), "0123456789abcdef");
  EXPECT_EQ(shorten_middle("0123456789abcdef", 12), "012...abcdef");
  EXPECT_EQ(shorten_middle("0123456789abcdef", 2), "01");
  EXPECT_EQ(shorten_middle("0123456789abcdef", 0), "");
}

TEST(ShortenMiddle, NeverCutsACodePoint) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "\xe2\x82\xac";
  const std::string cut = shorten_middle(text, 9);
  EXPECT_EQ(cut, "\xe2\x82\xac\xe2\x82\xac...\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
}

TEST(RateMeter, IsZeroUntilTwoPointsInTime) {
  RateMeter rate;
  const auto start = ProgressClock::now();
  EXPECT_EQ(rate.bytes_per_second(), 0);
  rate.add(start, 100);
  rate.add(start, 200);
  EXPECT_EQ(rate.bytes_per_second(), 0);
}

TEST(RateMeter, ForgetsWhatIsOlderThanItsWindow) {
  RateMeter rate;
  const auto start = ProgressClock::now();
  std::uint64_t bytes = 0;
  for (int second = 0; second <= 20; ++second) {
    rate.add(start + seconds(second), bytes);
    bytes += second < 10 ? 1'000'000 : 50;
  }
  EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 50);
}

TEST(RateMeter, CountThatFellIsNoNegativeRate) {
  RateMeter rate;
  rate.add(ProgressClock::now(), 100);
  rate.add(ProgressClock::now() + seconds(1), 50);
  EXPECT_EQ(rate.bytes_per_second(), 0);
}

// What a Progress wrote to a non-blocking descriptor.
std::string written_to(int fd) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : "";
}

struct TestPipe {
  TestPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  io::Fd read;
  io::Fd write;
};

TEST(Progress, DisabledWritesNothing) {
  TestPipe pipe;
  Progress progress(false, pipe.write.get());
  progress.update(halfway());
  progress.clear();
  EXPECT_EQ(written_to(pipe.read.get()), "");
}

TEST(Progress, RedrawsOneLineAndTakesItAwayOnce) {
  TestPipe pipe;
  Progress progress(true, pipe.write.get());
  progress.clear();
  EXPECT_EQ(written_to(pipe.read.get()), "");
  progress.update(halfway());
  const std::string drawn = written_to(pipe.read.get());
  EXPECT_TRUE(drawn.starts_with("\r27%  12.3/45.6 GB")) << drawn;
  EXPECT_TRUE(drawn.ends_with("\033[K")) << drawn;
  EXPECT_EQ(drawn.find('\n'), std::string::npos);
  progress.clear();
  progress.clear();
  EXPECT_EQ(written_to(pipe.read.get()), "\r\033[K");
}

TEST(Progress, DrawsAtMostOncePerInterval) {
  TestPipe pipe;
  Progress progress(true, pipe.write.get());
  const auto start = ProgressClock::now();
  progress.update(halfway(), start);
  EXPECT_NE(written_to(pipe.read.get()), "");
  progress.update(halfway(), start + Progress::kInterval - milliseconds(1));
  EXPECT_EQ(written_to(pipe.read.get()), "");
  progress.update(halfway(), start + Progress::kInterval);
  EXPECT_NE(written_to(pipe.read.get()), "");
}

TEST(Progress, ReaderThatIsGoneIsNoError) {
  TestPipe pipe;
  pipe.read.reset();
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  Progress progress(true, pipe.write.get());
  progress.update(halfway());
  progress.clear();
  ::signal(SIGPIPE, before);
}

// A terminal of the given width: the master's end to read from, the slave's to draw on.
struct TestTerminal {
  explicit TestTerminal(unsigned short columns) : master(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) return;
    slave.reset(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(slave.get(), TIOCSWINSZ, &size);
  }
  io::Fd master;
  io::Fd slave;
};

TEST(Progress, FitsTheTerminalWithOneColumnToSpare) {
  TestTerminal terminal(72);
  if (!terminal.slave) GTEST_SKIP() << "no pseudo-terminals here";
  ProgressState state = halfway();
  state.path = std::string(200, 'x');
  Progress progress(true, terminal.slave.get());
  progress.update(state);
  const std::string drawn = written_to(terminal.master.get());
  EXPECT_EQ(drawn.size(), 71 + std::string("\r\033[K").size()) << drawn;
}

// Shown, erased, and shown on this terminal.
struct TableTest : testing::Test {
  std::string drawn_on(const TestTerminal& terminal, bool always) {
    Progress progress(true, terminal.slave.get());
    progress.show_table(
        [this](std::size_t most) {
          asked_for = most;
          return std::vector<std::string>{"  h7: its link could do 9.10 MB/s", "  h3: failed: \x1b[2J"};
        },
        always);
    progress.update(halfway());
    const std::string drawn = written_to(terminal.master.get());
    progress.clear();
    erased = written_to(terminal.master.get());
    return drawn;
  }
  std::size_t asked_for = 0;
  std::string erased;
};

TEST_F(TableTest, ShowsBelowTheLineOnAWideTerminalOrWhereItIsWanted) {
  const TestTerminal wide(Progress::kTableColumns), narrow(Progress::kTableColumns - 1);
  if (!wide.slave || !narrow.slave) GTEST_SKIP() << "no pseudo-terminals here";
  for (const std::string& drawn : {drawn_on(wide, false), drawn_on(narrow, true)}) {
    EXPECT_NE(drawn.find("  h7: its link could do 9.10 MB/s"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("  h3: failed: \\x1b[2J"), std::string::npos) << drawn;
    EXPECT_TRUE(drawn.ends_with("\r\033[2A")) << drawn;
    EXPECT_EQ(erased, "\r\033[K\033[J");
  }
  EXPECT_EQ(asked_for, Progress::kTableRows);
  EXPECT_EQ(drawn_on(narrow, false).find("h7"), std::string::npos);
  EXPECT_EQ(erased, "\r\033[K");
}

TEST_F(TableTest, NeedsATerminalWithRoomForIt) {
  const TestTerminal low(120);
  if (!low.slave) GTEST_SKIP() << "no pseudo-terminals here";
  const winsize size{.ws_row = 4, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(low.slave.get(), TIOCSWINSZ, &size);
  EXPECT_EQ(drawn_on(low, true).find("h7"), std::string::npos);
  TestPipe pipe;
  Progress progress(true, pipe.write.get());
  progress.show_table([](std::size_t) { return std::vector<std::string>{"h7"}; }, true);
  progress.update(halfway());
  EXPECT_EQ(written_to(pipe.read.get()).find("h7"), std::string::npos);
}

TEST(ProgressWanted, OnTerminalsOrWhenForced) {
  TestTerminal terminal(80);
  if (!terminal.slave) GTEST_SKIP() << "no pseudo-terminals here";
  TestPipe pipe;
  ASSERT_EQ(::setenv("TERM", "xterm", 1), 0);
  EXPECT_TRUE(progress_wanted(false, false, terminal.slave.get()));
  EXPECT_FALSE(progress_wanted(false, true, terminal.slave.get()));
  EXPECT_FALSE(progress_wanted(false, false, pipe.write.get()));
  EXPECT_TRUE(progress_wanted(true, false, pipe.write.get()));
  ASSERT_EQ(::setenv("TERM", "dumb", 1), 0);
  EXPECT_FALSE(progress_wanted(false, false, terminal.slave.get()));
}

}  // namespace
}  // namespace rdcp::cli
