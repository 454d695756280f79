#include "cli/copy/slow_hosts.h"

#include <gtest/gtest.h>

#include <vector>

namespace rdcp::cli {
namespace {

constexpr std::uint32_t kSlots = 10;
constexpr std::size_t kMega = 1'000'000;

// What a host does in each second: shares of the time.
struct Load {
  double link = 0.1, disk = 0.05;
  double in_work = 0.1, waiting = 0.1;  // of all slots
};
constexpr Load kIdle{};
constexpr Load kSlowLink{.link = 1};
constexpr Load kSlowDisk{.link = 0.1, .disk = 1, .in_work = 0.9, .waiting = 0};

// A chain of hosts 0, 1, 2, ...
struct SlowHostsTest : testing::Test {
  void begin(std::size_t hosts, std::size_t may_leave = 9, std::uint64_t limit = 0) {
    SlowHosts::Terms terms{.parents = {}, .may_leave = may_leave, .bytes_per_second = limit};
    for (std::size_t host = 0; host < hosts; ++host)
      terms.parents[host] = host == 0 ? std::nullopt : std::optional(host - 1);
    begin(terms, hosts);
  }
  void begin(const SlowHosts::Terms& terms, std::size_t hosts) {
    slow.begin(terms);
    paces.assign(hosts, {});
    tell();
  }
  void tell() {
    for (std::size_t host = 0; host < paces.size(); ++host) slow.take(host, paces[host]);
  }
  // All hosts go on for some seconds, each telling twice a second.
  void pass(unsigned seconds, const std::vector<Load>& loads, std::uint64_t bytes_per_second = 9 * kMega) {
    constexpr std::uint64_t kHalfUs = 500'000;
    const auto part = [](double share) { return static_cast<std::uint64_t>(share * kHalfUs); };
    for (unsigned half = 0; half < 2 * seconds; ++half) {
      for (std::size_t host = 0; host < paces.size(); ++host) {
        tree::Pace& pace = paces[host];
        pace.slots = kSlots;
        pace.clock_us += kHalfUs;
        pace.bytes += bytes_per_second / 2;
        pace.arriving_us += part(loads[host].link);
        pace.handling_us += part(loads[host].disk);
        pace.handling_slots_us += kSlots * part(loads[host].in_work);
        pace.waiting_slots_us += kSlots * part(loads[host].waiting);
      }
      tell();
    }
  }
  std::vector<std::size_t> hosts(std::optional<std::uint64_t> bytes_left = std::nullopt) const {
    std::vector<std::size_t> hosts;
    for (const SlowHosts::Slow& one : slow.slow(bytes_left)) hosts.push_back(one.host);
    return hosts;
  }
  using List = std::vector<std::size_t>;

  SlowHosts slow;
  std::vector<tree::Pace> paces;
};

TEST_F(SlowHostsTest, TheHostWhoseDiskIsAlwaysBusyWhileAllOthersHaveLittleToDo) {
  begin(4);
  pass(5, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(), List{2});
  EXPECT_EQ(slow.slow({})[0].why,
            "slower than the others: its disk takes 9.00 MB/s where they could do 90.00 MB/s");
}

TEST_F(SlowHostsTest, TheHostToWhichTheLinkIsAlwaysBusy) {
  begin(4);
  pass(5, {kIdle, kIdle, kIdle, kSlowLink});
  EXPECT_EQ(hosts(), List{3});
  EXPECT_NE(slow.slow({})[0].why.find("its link takes 9.00 MB/s"), std::string::npos);
}

TEST_F(SlowHostsTest, AHostThatHoldsUpItsThreadsHasABusyLinkToo) {
  begin(4);
  const Load blocked{.link = 0.98, .disk = 0.95, .in_work = 0.2};
  pass(5, {blocked, kIdle, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{0});
  EXPECT_NE(slow.slow({})[0].why.find("its disk"), std::string::npos);
}

// Its link is slow in both directions.
TEST_F(SlowHostsTest, TheHostOnBothSidesOfWhichLinksAreBusy) {
  begin(5);
  pass(5, {kIdle, kSlowLink, kSlowLink, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{1});
  begin(5);
  pass(5, {kSlowLink, kSlowLink, kIdle, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{0});
  begin(7);
  pass(5, {kIdle, kSlowLink, kSlowLink, kSlowLink, kIdle, kIdle, kIdle});
  EXPECT_EQ(hosts(), (List{1, 2}));
}

TEST_F(SlowHostsTest, NobodyForTheLinkFromTheSource) {
  begin(4);
  pass(9, {kSlowLink, kIdle, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{});
}

TEST_F(SlowHostsTest, NobodyWhereAllAreAlike) {
  for (const std::size_t count : {3u, 4u, 5u, 6u}) {
    begin(count);
    pass(9, std::vector(count, kSlowLink));
    EXPECT_EQ(hosts(), List{}) << count;
    Load half = kSlowLink;
    half.link = 0.5;
    pass(9, std::vector(count, half));
    EXPECT_EQ(hosts(), List{}) << count;
  }
  begin(4);
  pass(9, {kSlowDisk, kSlowDisk, kSlowDisk, kSlowDisk});
  EXPECT_EQ(hosts(), List{});
  pass(9, {kIdle, kIdle, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{});
}

TEST_F(SlowHostsTest, NobodyWhereAnotherIsNotThreeTimesAsFast) {
  begin(4);
  Load half = kIdle;
  half.disk = 0.4;
  pass(9, {half, half, kSlowDisk, half});
  EXPECT_EQ(hosts(), List{});
}

TEST_F(SlowHostsTest, AllThatAreMuchSlowerThanTheRest) {
  begin(6);
  Load half = kIdle;
  half.disk = 0.5;
  pass(5, {kIdle, half, kIdle, kSlowDisk, kIdle, kIdle});
  EXPECT_EQ(hosts(), (List{1, 3}));
  EXPECT_NE(slow.slow({})[0].why.find("its disk takes 18.00 MB/s"), std::string::npos)
      << slow.slow({})[0].why;
}

TEST_F(SlowHostsTest, NoMoreThanMayLeave) {
  begin(6, 1);
  pass(9, {kIdle, kSlowDisk, kIdle, kSlowDisk, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{});
  begin(4, 0);
  pass(9, {kIdle, kSlowDisk, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{});
}

TEST_F(SlowHostsTest, OneHiccupIsNotEnough) {
  begin(4);
  pass(4, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(), List{});
  pass(1, {kIdle, kIdle, kIdle, kIdle});
  pass(4, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(), List{});
  pass(1, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(), List{2});
}

// As while one of them flushes a file.
TEST_F(SlowHostsTest, TimeInWhichNothingComesIsOneWindow) {
  begin(4);
  pass(60, {kIdle, kIdle, kSlowDisk, kIdle}, 0);
  pass(3, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(), List{});
}

// A disk far away takes long for each chunk, and many at a time.
TEST_F(SlowHostsTest, ADiskThatIsOnlyNeverIdleHoldsNobodyUp) {
  begin(4);
  const Load parallel{.link = 0.1, .disk = 0.95, .in_work = 0.3};
  pass(9, {kIdle, kIdle, parallel, kIdle});
  EXPECT_EQ(hosts(), List{});
  Load full = kIdle;
  full.waiting = 0.8;
  pass(5, {kIdle, full, parallel, kIdle});
  EXPECT_EQ(hosts(), List{2});
}

TEST_F(SlowHostsTest, NobodyWhereTheUserLetsNobodyGoFaster) {
  begin(4, 9, 20 * kMega);
  pass(9, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(), List{});
}

TEST_F(SlowHostsTest, NobodyForSoLittleTime) {
  begin(4);
  pass(5, {kIdle, kIdle, kSlowDisk, kIdle});
  EXPECT_EQ(hosts(90 * kMega), List{});  // 10 s, or 1 s and another chain
  EXPECT_EQ(hosts(180 * kMega), List{2});
}

// Of a tree: 0 passes on to 1 and 2, these to 3 and 4.
TEST_F(SlowHostsTest, LinksOfATree) {
  SlowHosts::Terms terms{.parents = {{0, {}}, {1, 0}, {2, 0}, {3, 1}, {4, 2}}, .may_leave = 2};
  begin(terms, 5);
  pass(5, {kIdle, kIdle, kSlowLink, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{2});
  begin(terms, 5);
  pass(5, {kIdle, kSlowLink, kIdle, kSlowLink, kIdle});
  EXPECT_EQ(hosts(), List{1});
  begin(terms, 5);
  pass(5, {kSlowLink, kSlowLink, kSlowLink, kIdle, kIdle});
  EXPECT_EQ(hosts(), List{0});
}

TEST_F(SlowHostsTest, NobodyWhileOneTellsNothing) {
  begin(4);
  paces.pop_back();
  pass(9, {kIdle, kIdle, kSlowDisk});
  EXPECT_EQ(hosts(), List{});
}

// An agent may say anything.
TEST_F(SlowHostsTest, CountersThatFallOrLeapDoNoHarm) {
  begin(3);
  pass(3, {kIdle, kSlowDisk, kIdle});
  for (tree::Pace& pace : paces) pace.clock_us = pace.handling_us = 0;
  pass(5, {kIdle, kSlowDisk, kIdle});
  paces[2] = {};
  paces[2].clock_us = paces[2].bytes = paces[2].handling_us = ~std::uint64_t{0};
  tell();
  pass(9, {kIdle, kSlowDisk, kIdle});
  slow.take(7, paces[0]);  // not one of them
  for (const SlowHosts::Speed& speed : slow.slowest(3)) EXPECT_GE(speed.bytes_per_second, 0);
  EXPECT_LE(hosts().size(), 1u);
}

TEST_F(SlowHostsTest, TellsWhatTheSlowestCouldDo) {
  begin(4);
  EXPECT_TRUE(slow.slowest(5).empty());
  pass(1, {kIdle, kSlowLink, kSlowDisk, kIdle});
  const auto speeds = slow.slowest(3);
  ASSERT_EQ(speeds.size(), 3u);
  EXPECT_EQ(speeds[0].host + speeds[1].host, 1u + 2u);
  EXPECT_NEAR(speeds[0].bytes_per_second, 9e6, 1e4);
  EXPECT_STREQ(speeds[0].host == 1 ? speeds[0].of : speeds[1].of, "its link");
  EXPECT_STREQ(speeds[0].host == 2 ? speeds[0].of : speeds[1].of, "its disk");
  EXPECT_NEAR(speeds[2].bytes_per_second, 90e6, 1e5);
}

}  // namespace
}  // namespace rdcp::cli
