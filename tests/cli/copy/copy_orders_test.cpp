#include "cli/copy/copy_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fake_agent.h"
#include "tree/messages/paths_named.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using tree::Connect;
using tree::PathKind;

CopyRequest request_for(Connect source_connects) {
  CopyRequest request;
  request.parties.source_connects = source_connects;
  request.sources = {"a"};
  request.destination = "/dst";
  request.settings.chunk_bytes = 1 << 20;
  request.wish.transport = tree::Transport::tcp;
  return request;
}

TEST(CopyJobs, TheTargetListensWhereTheSourceConnects) {
  const auto target_connects = [&](Connect source) {
    return jobs_of(request_for(source), EarlierRun::none).target.streams.connect;
  };
  EXPECT_EQ(target_connects(Connect::connect), Connect::listen);
  EXPECT_EQ(target_connects(Connect::listen), Connect::connect);
  EXPECT_EQ(target_connects(Connect::in_process), Connect::in_process);
}

TEST(CopyJobs, BothHaveTheSameKeyAndSettings) {
  CopyRequest request = request_for(Connect::connect);
  request.wish.key.fill(std::byte{7});
  const CopyJobs jobs = jobs_of(request, EarlierRun::doubtful);
  EXPECT_EQ(jobs.source.streams.key, request.wish.key);
  EXPECT_EQ(jobs.target.streams.key, request.wish.key);
  EXPECT_TRUE(jobs.source.settings.sync.checksum && jobs.target.settings.sync.checksum);
}

TEST(CopyJobs, RulesReachTheTargetOnlyWhereItDeletes) {
  CopyRequest request = request_for(Connect::connect);
  request.selection.named_only = true;
  EXPECT_FALSE(jobs_of(request, EarlierRun::none).target.selection.named_only);
  EXPECT_TRUE(jobs_of(request, EarlierRun::none).target.tree);
  request.settings.sync.delete_extra = true;
  EXPECT_TRUE(jobs_of(request, EarlierRun::none).target.selection.named_only);
}

TEST(CopyJobs, SumsAreToldIfSomebodyHearsThem) {
  CopyRequest request = request_for(Connect::connect);
  EXPECT_FALSE(jobs_of(request, EarlierRun::none).source.tell_sums);
  request.hear_sum = [](const tree::SumLine&) {};
  EXPECT_TRUE(jobs_of(request, EarlierRun::none).source.tell_sums);
}

TEST(PathsFound, TakeThePlaceOfTheWords) {
  CopyRequest request = request_for(Connect::listen);
  request.sources = {"*.txt", "f", "d?"};
  EXPECT_TRUE(take_found({{{0, "a.txt"}, {0, "b.txt"}, {2, "d1"}}}, "host1", request));
  EXPECT_THAT(request.sources, ElementsAre("a.txt", "b.txt", "d1"));
  EXPECT_TRUE(take_found({}, "host1", request));
  EXPECT_TRUE(request.sources.empty());
}

// As a hostile scp server did (CVE-2019-6111).
TEST(PathsFound, OthersThanThoseAskedForAreRefused) {
  for (const tree::PathFound& one : std::initializer_list<tree::PathFound>{
           {0, ".bashrc"}, {0, "../a.txt"}, {0, "d/a.txt"}, {1, "a.txt"}, {2, "f"}, {0, ""}, {7, "a.txt"}}) {
    CopyRequest request = request_for(Connect::listen);
    request.sources = {"*.txt", "f"};
    const auto taken = take_found({{one}}, "host1", request);
    ASSERT_FALSE(taken) << one.path;
    EXPECT_EQ(taken.error().kind, io::ErrorKind::protocol);
    EXPECT_THAT(taken.error().message(), testing::HasSubstr("host1"));
    EXPECT_THAT(request.sources, ElementsAre("*.txt", "f"));
  }
  CopyRequest request = request_for(Connect::listen);
  request.sources = {"*.txt", "*.txt"};
  EXPECT_FALSE(take_found({{{1, "a.txt"}, {0, "b.txt"}}}, "host1", request)) << "out of order";
}

TEST(TellNames, MessagesEndBetweenPaths) {
  FakeAgent agent("host1");
  const std::string path(tree::PathsNamed::kBytesMax / 3, 'x');
  std::string all;
  for (int i = 0; i < 4; ++i) all += path + '\0';
  std::thread teller([&] { tell_names(*agent.session, all); });
  std::string heard;
  for (std::size_t messages = 0; messages < 2; ++messages) {
    const auto raw = agent.channel->wait(std::chrono::steady_clock::now() + std::chrono::seconds(60));
    ASSERT_TRUE(raw);
    const auto names = agent.channel->decode<tree::PathsNamed>(*raw);
    ASSERT_TRUE(names);
    EXPECT_EQ(names->paths.back(), '\0');
    EXPECT_LE(names->paths.size(), tree::PathsNamed::kBytesMax);
    heard += names->paths;
  }
  teller.join();
  EXPECT_EQ(heard, all);
}

struct CopyBeginsTest : testing::Test {
  explicit CopyBeginsTest(const std::string& target_boot_id = "another one") {
    for (FakeAgent* agent : {&source_agent, &target_agent}) {
      tree::Hello hello;
      hello.cpus = 4;
      hello.boot_id = agent == &source_agent ? "one kernel" : target_boot_id;
      EXPECT_TRUE(agent->reach_session(hello));
    }
    source.session = std::move(source_agent.session);
    target.session = std::move(target_agent.session);
    source.ready.emplace().sources = {{PathKind::file, 5, 6}};
    target.ready.emplace().kind = PathKind::directory;
    target.ready->reach.hosts = {"10.0.0.2"};
    target.ready->reach.port = 4000;
    target.ready->reach.listens = true;
    target.ready->new_mode = 0666;
  }
  // How many streams there are if ssh carries them.
  unsigned streams_through_ssh() {
    auto both = begins();
    Meeting meeting;
    meeting.through_ssh = true;
    apply(meeting, **both);
    EXPECT_EQ((*both)->source.streams, (*both)->path.streams);
    EXPECT_EQ((*both)->target.streams, (*both)->path.streams);
    return (*both)->path.streams;
  }
  io::Result<std::optional<CopyBegins>> begins() { return begins_of(request, source, target, RoundTrip()); }

  FakeAgent source_agent{"from"};
  FakeAgent target_agent{"to"};
  SourceSide source;
  TargetSide target;
  CopyRequest request = request_for(Connect::connect);
};

TEST_F(CopyBeginsTest, SourceAndTargetMeetAtWhatTheListenerReports) {
  const auto both = begins();
  ASSERT_TRUE(both && *both);
  EXPECT_THAT((*both)->source.hosts, ElementsAre("10.0.0.2"));
  EXPECT_EQ((*both)->target.port, 4000);
  EXPECT_EQ((*both)->source.streams, (*both)->path.streams);
  EXPECT_EQ((*both)->source.source_inode, 0u) << "inodes of two kernels cannot be compared";
  EXPECT_EQ(std::uint32_t{(*both)->source.new_mode}, 0644u);
}

TEST_F(CopyBeginsTest, AnAddressThatIsKnownToReachCountsMore) {
  request.parties.reached = net::Address{};
  request.parties.reached->host = "192.0.2.1";
  const auto both = begins();
  ASSERT_TRUE(both && *both);
  EXPECT_THAT((*both)->source.hosts, ElementsAre("192.0.2.1"));
  EXPECT_EQ((*both)->source.port, 4000);
}

TEST_F(CopyBeginsTest, SshHasAsManySessionsAsThereAreProcessorsForBothItsEnds) {
  EXPECT_EQ(streams_through_ssh(), 4u);
  request.streams = 3;
  EXPECT_EQ(streams_through_ssh(), 3u);
}

struct CopyWithinAHostTest : CopyBeginsTest {
  CopyWithinAHostTest() : CopyBeginsTest("one kernel") {}
};

TEST_F(CopyWithinAHostTest, BothEndsOfSshShareTheProcessors) {
  EXPECT_EQ(streams_through_ssh(), 2u);
  request.streams = 3;
  EXPECT_EQ(streams_through_ssh(), 3u) << "as the user says";
}

TEST_F(CopyBeginsTest, OnlyTheSourceHearsOfSourcesThatCannotBeCopied) {
  request.sources = {"a", "b"};
  source.ready->sources = {{PathKind::missing, 0, 0}, {PathKind::file, 5, 6}};
  const auto both = begins();
  ASSERT_TRUE(both && *both);
  EXPECT_THAT((*both)->source.landings, ElementsAre("", "b"));
  EXPECT_THAT((*both)->target.landings, ElementsAre("b"));
}

TEST_F(CopyBeginsTest, NothingBeginsIfNoSourceCanBeCopied) {
  source.ready->sources = {{PathKind::missing, 0, 0}};
  const auto both = begins();
  ASSERT_TRUE(both);
  EXPECT_FALSE(*both);
}

TEST_F(CopyBeginsTest, ASourceThatLosesCountIsRefused) {
  source.ready->sources.clear();
  const auto both = begins();
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message(), "talk to from: it reports another number of sources than it was given");
}

TEST_F(CopyBeginsTest, WhatIsNoFileIsNotCompared) {
  request.settings.sync.enabled = true;
  target.ready->kind = PathKind::special;
  const auto both = begins();
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message(), "copy to to:/dst: is neither a file nor a directory");
}

TEST_F(CopyBeginsTest, AMissingDirectoryIsNamedWithItsHost) {
  request.destination = "/dst/";
  request.parties.target_is_far = true;
  target.ready->kind = PathKind::missing;
  const auto both = begins();
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message(), "copy to to:/dst/: no such directory (--mkpath makes it)");
}

TEST_F(CopyBeginsTest, AByteStreamHasOneStreamUnlessItIsWrapped) {
  request.standard_input = true;
  source.ready->sources = {{PathKind::byte_stream, 0, 0}};
  target.ready->kind = PathKind::byte_stream;
  EXPECT_EQ((*begins())->path.streams, 1u);
  EXPECT_TRUE((*begins())->source.as_it_comes);
  request.wish.encrypt = net::Sealing::always;
  EXPECT_EQ((*begins())->path.streams, 2u) << "half of four processors";
}

}  // namespace
}  // namespace rdcp::cli
