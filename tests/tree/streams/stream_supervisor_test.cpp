// Worker threads and the streams that take the place of lost ones, without any stream.
#include "tree/streams/stream_supervisor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace rdcp::tree {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

io::Error loss(const char* why) {
  return io::plain_error(io::ErrorKind::connection, "receive from", "peer", why);
}

// Gives a stream each time it is asked, from the second time on.
class Given : public FurtherStreams {
 public:
  explicit Given(bool connects, bool any = true) : connects_(connects), any_(any) {}
  bool connects() const override { return connects_; }
  std::optional<FurtherStream> next(std::size_t stream, StreamsLeft left) override {
    left_ = left;
    std::unique_lock lock(mutex_);
    if (connects_) {
      const bool first_try = tried_.empty();
      EXPECT_TRUE(tried_.insert(stream).second) << "a number was used twice";
      changed_.notify_all();
      return any_ && !first_try ? std::optional(FurtherStream{stream, {}}) : std::nullopt;
    }
    changed_.wait(lock, [this] { return stopped_ || offered_ > 0; });
    if (stopped_) return std::nullopt;
    --offered_;
    return FurtherStream{numbers_++, {}};
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  // What the other side does when it has lost one.
  void offer() {
    const std::lock_guard lock(mutex_);
    ++offered_;
    changed_.notify_all();
  }
  // Whether a try was made for a later number than this one, within that time.
  bool tried_beyond(std::size_t stream, milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return !tried_.empty() && *tried_.rbegin() > stream; });
  }
  std::size_t tries() {
    const std::lock_guard lock(mutex_);
    return tried_.size();
  }

  std::atomic<StreamsLeft> left_{StreamsLeft::some};  // what was told last

 private:
  const bool connects_;
  const bool any_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> tried_;
  int offered_ = 0;
  std::size_t numbers_ = 10;
  bool stopped_ = false;
};

// Of as many streams, each of which has come.
std::vector<StreamMaker> made(std::size_t streams) {
  return {streams, StreamMaker([](io::Ring&, io::Arena&) { return std::unique_ptr<net::Stream>(); })};
}

// A worker that loses its stream if it is one of the first two, and ends it well otherwise.
class Worker {
 public:
  explicit Worker(StreamTable& table) : table_(table) {}
  void operator()(std::size_t stream) {
    {
      const std::lock_guard lock(mutex_);
      seen_.insert(stream);
    }
    if (stream < 2) {
      kept_going_ = table_.lose(stream, "tcp", loss("it was cut"), true);
      if (lost_) lost_();
    } else if (stream < good_from_) {
      if (before_vain_) before_vain_(stream);
      EXPECT_TRUE(table_.lose(stream, "tcp", loss("no memory may be locked"), false));
    } else {
      table_.end(stream);
    }
    table_.leave(stream);
  }
  // Streams from number 2 up to this one are lost before anything went over them.
  std::size_t good_from_ = 2;
  std::function<void(std::size_t)> before_vain_;
  std::function<void()> lost_;
  std::atomic<bool> kept_going_{false};
  std::set<std::size_t> seen_;

 private:
  StreamTable& table_;
  std::mutex mutex_;
};

class StreamSupervisorTest : public ::testing::Test {
 protected:
  std::optional<io::Error> run(std::size_t streams, FurtherStreams* further, milliseconds patience) {
    std::optional<io::Error> failed;
    StreamSupervisor crew(
        table_, [this](std::size_t stream, const StreamMaker&) { worker_(stream); },
        [this] { return over_.load(); }, [&](const io::Error& error) { failed = error; }, pace_);
    auto makers = made(streams);
    for (const std::size_t stream : missing_) makers.at(stream) = {};
    crew.run(makers, further, patience);
    return failed;
  }
  StreamTable table_;
  Worker worker_{table_};
  std::atomic<bool> over_{false};
  std::vector<std::size_t> missing_;  // streams that never come
  SupervisorPace pace_{
      .look_every = milliseconds(5), .first_pause = milliseconds(20), .pause_max = milliseconds(500)};
};

class Two : public StreamPolicy {
 public:
  std::optional<std::size_t> take(Clock::time_point, std::uint64_t, std::size_t) override { return 2; }
  std::string outcome() const override { return {}; }
};

// The worker of the only stream ends once the one that is to be added works.
TEST_F(StreamSupervisorTest, AStreamIsAddedWhereMoreAreToBeUsed) {
  Given given(true);
  std::mutex mutex;
  std::condition_variable came;
  bool further_works = false;
  std::set<std::size_t> seen;
  const auto work = [&](std::size_t stream, const StreamMaker&) {
    std::unique_lock lock(mutex);
    seen.insert(stream);
    further_works = further_works || stream > 0;
    came.notify_all();
    EXPECT_TRUE(came.wait_for(lock, seconds(20), [&] { return further_works; }));
    table_.end(stream);
    table_.leave(stream);
  };
  StreamSupervisor crew(
      table_, work, [] { return false; }, [](const io::Error& error) { ADD_FAILURE() << error.message(); },
      {.look_every = milliseconds(5), .first_pause = milliseconds(20), .pause_max = milliseconds(500)});
  Two two;
  crew.follow(
      {&two, [] { return std::uint64_t{0}; }, [](std::size_t) { ADD_FAILURE() << "it connects itself"; }});
  crew.run(made(1), &given, seconds(9));
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 2})) << "the first try, for number 1, was in vain";
  EXPECT_TRUE(table_.lost().empty());
}

TEST_F(StreamSupervisorTest, OneThatEndsWellIsEnough) {
  EXPECT_FALSE(run(3, nullptr, seconds(9)));
  EXPECT_EQ(worker_.seen_, (std::set<std::size_t>{0, 1, 2}));
}

// Before its ring and its memory are made, so before its work begins.
TEST_F(StreamSupervisorTest, EachThreadIsPreparedBeforeItWorks) {
  std::mutex mutex;
  std::vector<std::pair<std::thread::id, bool>> calls;  // whose, and if it is the work
  const auto note = [&](bool works) {
    const std::lock_guard lock(mutex);
    calls.emplace_back(std::this_thread::get_id(), works);
  };
  const auto make = [](io::Ring&, io::Arena&) { return std::unique_ptr<net::Stream>(); };
  const auto work = [&](std::size_t stream, const StreamMaker&) {
    note(true);
    worker_(stream);
  };
  StreamSupervisor supervisor(
      table_, work, [] { return false; }, [](const io::Error&) {});
  supervisor.run({StreamMaker(make, [&] { note(false); }), StreamMaker(make, [&] { note(false); })}, nullptr,
                 milliseconds(0));
  ASSERT_EQ(calls.size(), 4u);
  for (const auto& [thread, works] : calls) {
    const auto first = std::ranges::find(calls, thread, &std::pair<std::thread::id, bool>::first);
    EXPECT_FALSE(first->second);
    EXPECT_EQ(std::ranges::count(calls, std::pair(thread, true)), 1);
  }
}

TEST_F(StreamSupervisorTest, WithoutOthersTheLastLossEndsTheRun) {
  const auto error = run(2, nullptr, seconds(9));
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("it was cut"), std::string::npos);
}

TEST_F(StreamSupervisorTest, TheSideThatConnectsTriesUntilOneIsThere) {
  Given further(true);
  EXPECT_FALSE(run(1, &further, seconds(20)));
  EXPECT_EQ(worker_.seen_, (std::set<std::size_t>{0, 2}));
  EXPECT_TRUE(worker_.kept_going_);
  ASSERT_EQ(table_.lost().size(), 1u);
  EXPECT_NE(table_.lost()[0].find("another one took its place"), std::string::npos);
}

TEST_F(StreamSupervisorTest, TheSideThatListensTakesWhatComes) {
  Given further(false);
  worker_.lost_ = [&] { further.offer(); };
  EXPECT_FALSE(run(1, &further, seconds(20)));
  EXPECT_EQ(worker_.seen_, (std::set<std::size_t>{0, 10}));
}

// The other side has lost them before they were proven here, and comes again.
TEST_F(StreamSupervisorTest, ThoseThatNeverComeAreReplacedToo) {
  missing_ = {0, 1};
  Given further(false);
  further.offer();
  EXPECT_FALSE(run(2, &further, seconds(20)));
  EXPECT_EQ(worker_.seen_, (std::set<std::size_t>{10}));
  EXPECT_TRUE(table_.has_left(0) && table_.has_left(1)) << "nobody works at them";
  EXPECT_EQ(table_.lost().size(), 2u);
}

TEST_F(StreamSupervisorTest, WithoutOthersNoneIsLeftIfNoneComes) {
  missing_ = {0, 1};
  const auto error = run(2, nullptr, seconds(9));
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("lost it before it was proven here"), std::string::npos);
  EXPECT_TRUE(worker_.seen_.empty());
}

// The other side may have met somebody else, and would do so for as long as it was waited for.
TEST_F(StreamSupervisorTest, WhereNoneHasEverComeOthersAreNotWaitedForLong) {
  missing_ = {0, 1};
  pace_.none_came_max = milliseconds(100);
  Given further(false);
  const auto before = std::chrono::steady_clock::now();
  const auto error = run(2, &further, seconds(600));
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("lost it before it was proven here"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(60));
}

TEST_F(StreamSupervisorTest, WhereOneHasComeOthersAreWaitedForAsLongAsElsewhere) {
  missing_ = {1};
  pace_.none_came_max = milliseconds(0);
  Given further(false);
  worker_.lost_ = [&] { further.offer(); };
  EXPECT_FALSE(run(2, &further, seconds(20)));
  EXPECT_EQ(worker_.seen_, (std::set<std::size_t>{0, 10}));
}

TEST_F(StreamSupervisorTest, PatienceEnds) {
  Given further(true, false);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(run(1, &further, milliseconds(200)));
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(200));
  EXPECT_GE(further.tries(), 2u);
}

// One that lives when the next one is tried for is not yet known to be in vain.
TEST_F(StreamSupervisorTest, TwoThatAreTriedForInTurnRenewNoPatience) {
  Given further(true);
  worker_.good_from_ = kStreamNumbersMax;
  worker_.before_vain_ = [&](std::size_t stream) { further.tried_beyond(stream, milliseconds(600)); };
  EXPECT_TRUE(run(2, &further, milliseconds(200)));
  EXPECT_LT(further.tries(), 20u);
}

TEST_F(StreamSupervisorTest, OneThatCarriesNothingIsAFailedTry) {
  worker_.good_from_ = 5;
  Given further(true);
  EXPECT_FALSE(run(1, &further, seconds(20)));
  EXPECT_TRUE(worker_.seen_.contains(5));
  ASSERT_EQ(table_.lost().size(), 1u) << "failed tries are told";
  EXPECT_NE(table_.lost()[0].find("it was cut; another one took its place"), std::string::npos);
}

TEST_F(StreamSupervisorTest, ATryIsToldThatNoneIsLeft) {
  Given further(true);
  EXPECT_FALSE(run(1, &further, seconds(20)));
  EXPECT_EQ(further.left_, StreamsLeft::none);
}

TEST_F(StreamSupervisorTest, ATryIsToldThatTheLastOneCarriedNothing) {
  worker_.good_from_ = 4;
  Given further(true);
  EXPECT_FALSE(run(1, &further, seconds(20)));
  EXPECT_EQ(further.left_, StreamsLeft::none_carried);
}

TEST_F(StreamSupervisorTest, PatienceEndsWithThoseThatCarryNothing) {
  worker_.good_from_ = kStreamNumbersMax;
  Given further(true);
  const auto before = std::chrono::steady_clock::now();
  const auto error = run(1, &further, milliseconds(400));
  const auto took = std::chrono::steady_clock::now() - before;
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("it was cut"), std::string::npos) << "of the stream that was there";
  EXPECT_GE(took, milliseconds(400));
  EXPECT_LT(took, seconds(10));
  EXPECT_LE(further.tries(), 6u) << "each pause is longer than the one before";
}

TEST_F(StreamSupervisorTest, NobodyIsWaitedForWhenTheRunIsStopped) {
  Given further(false);
  worker_.lost_ = [&] { over_ = true; };
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(run(1, &further, seconds(60)));
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(30));
}

TEST(StreamTableTest, ANumberIsGoodForOneStreamOnly) {
  StreamTable table;
  table.begin(2, true);
  EXPECT_FALSE(table.add(0));
  EXPECT_FALSE(table.add(kStreamNumbersMax));
  EXPECT_TRUE(table.add(5));
  EXPECT_FALSE(table.add(5));
  EXPECT_TRUE(table.give_up(3));
  EXPECT_FALSE(table.add(3)) << "it was given up before it came";
  EXPECT_TRUE(table.has_left(3)) << "so nobody has to be waited for";
  EXPECT_FALSE(table.give_up(kStreamNumbersMax));
}

TEST(StreamTableTest, NoMoreThanTwiceAsManyLive) {
  StreamTable table;
  table.begin(1, true);
  EXPECT_TRUE(table.add(1));
  EXPECT_FALSE(table.add(2));
  EXPECT_TRUE(table.lose(0, "tcp", loss("gone"), true));
  EXPECT_TRUE(table.add(3));
}

TEST(StreamTableTest, WhoCarriedNothingCameInVain) {
  StreamTable table;
  table.begin(1, true);
  EXPECT_TRUE(table.in_vain(1)) << "it did not come";
  EXPECT_TRUE(table.add(1));
  EXPECT_FALSE(table.in_vain(1));
  EXPECT_TRUE(table.lose(0, "tcp", loss("gone"), false));
  EXPECT_FALSE(table.in_vain(0)) << "it was there at first";
  EXPECT_TRUE(table.lose(1, "tcp", loss("gone"), false));
  EXPECT_TRUE(table.in_vain(1));
  ASSERT_EQ(table.lost().size(), 1u);
  EXPECT_NE(table.lost()[0].find("its chunks went over the others"), std::string::npos);
  EXPECT_TRUE(table.add(2));
  EXPECT_TRUE(table.lose(2, "tcp", loss("gone"), true));
  EXPECT_EQ(table.lost().size(), 2u);
}

TEST(StreamTableTest, WithoutFurtherOnesUnknownNumbersAreNone) {
  StreamTable table;
  table.begin(2);
  EXPECT_FALSE(table.give_up(2));
  EXPECT_TRUE(table.give_up(1));
}

}  // namespace
}  // namespace rdcp::tree
