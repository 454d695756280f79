// A coordinator that proved a key and no more: what it may make an agent do.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "io/arena.h"
#include "tests/tree/agent/held_agent.h"
#include "tests/tree/copy/copy_fixture.h"
#include "tree/messages/check_job.h"
#include "tree/messages/finding.h"
#include "tree/messages/measure_job.h"
#include "tree/messages/paths_named.h"
#include "tree/messages/segment_job.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct OnlyFileTest : testing::Test {
  void SetUp() override {
    fs::create_directories(scratch / "in");
    fs::create_directories(scratch / "out");
  }
  std::string make_source(const std::string& name, std::size_t bytes) {
    const std::string path = scratch / ("in/" + name);
    std::ofstream(path, std::ios::binary) << test_bytes(bytes);
    return path;
  }
  CopyResult run(const std::string& source, const std::string& landing) {
    CopyCase copy;
    copy.sources = {source};
    copy.destination = scratch / "out/FILE";
    copy.only_file_mode = 0640;
    copy.landings = {landing};
    return run_copy(copy, heard);
  }
  ScratchDirectory scratch;
  Heard heard;
};

TEST_F(OnlyFileTest, NeitherNameNorMetadataAreTheSourcesToSay) {
  const std::string source = make_source("big", 1 << 20);
  fs::permissions(source, static_cast<fs::perms>(06777));
  for (const char* landing : {"FILE", "elsewhere", "a/b/c"}) {
    const CopyResult result = run(source, landing);
    EXPECT_TRUE(result.complete()) << heard.text();
    EXPECT_EQ(names_in(scratch / "out"), std::set<std::string>{"FILE"}) << landing;
    EXPECT_EQ(content(scratch / "out/FILE"), test_bytes(1 << 20));
    EXPECT_EQ(static_cast<unsigned>(fs::status(scratch / "out/FILE").permissions()), 0640u);
    fs::remove(scratch / "out/FILE");
  }
}

TEST_F(OnlyFileTest, ArchivesAreRefused) {
  const CopyResult result = run(make_source("small", 10), "elsewhere");
  EXPECT_FALSE(result.complete());
  EXPECT_NE(heard.text().find("an archive where one stream was agreed on"), std::string::npos)
      << heard.text();
  EXPECT_TRUE(names_in(scratch / "out").empty());
}

TEST_F(OnlyFileTest, ADirectoryTreeIsRefused) {
  make_source("small", 10);
  fs::create_directories(scratch / "in/sub");
  EXPECT_FALSE(run(scratch / "in/", "").complete());
  EXPECT_TRUE(names_in(scratch / "out").empty());
}

// An agent of that kind.
struct ReceiveOnlyPolicyAgent : testing::Test {
  AgentConfig only_one_file() {
    AgentConfig place;
    place.only.emplace();
    place.only->path = scratch / "FILE";
    place.streams.key.emplace();
    place.tell = [this](const Problem& problem) { told = problem.text; };
    return place;
  }
  template <class Message>
  void expect_refused(Message message, const std::string& why) {
    agent.tell(std::move(message));
    EXPECT_TRUE(agent.hear<Problem>());
    const AgentEnd ended = agent.join();
    EXPECT_NE(told.find(why), std::string::npos) << told;
    EXPECT_FALSE(ended.status);
    EXPECT_TRUE(names_in(scratch.path()).empty());
  }

  ScratchDirectory scratch;
  std::string told;  // the last problem, to be read after the agent's end
  HeldAgent agent{"agent", only_one_file()};
};

TEST_F(ReceiveOnlyPolicyAgent, ReadsNoFile) {
  SourceJob job;
  job.paths = {"/etc/passwd"};
  expect_refused(job, "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, MeasuresNothing) {
  expect_refused(MeasureJob(), "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, RunsNoCommand) {
  SegmentJob job;
  job.text = "true";
  expect_refused(job, "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, ListsAndReadsNothing) {
  ListJob job;
  job.path = "/etc";
  expect_refused(job, "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, TellsNothingOfItsHost) {
  expect_refused(Examine(), "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, KeepsNoListOfPaths) {
  PathsNamed names;
  names.paths = std::string("a\0", 2);
  expect_refused(names, "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, HasOneTry) {
  TargetJob job;
  job.settings.chunk_bytes = 1 << 20;
  job.streams.transport = Transport::tcp;
  agent.tell(job);
  ASSERT_TRUE(agent.hear<TargetReady>());
  expect_refused(job, "asks for more than to send one stream");
}

TEST_F(ReceiveOnlyPolicyAgent, BeginsNothingWithoutAJob) {
  expect_refused(Begin(), "sends 'begin', which an agent does not expect there");
}

TEST_F(ReceiveOnlyPolicyAgent, AllocatesNoMoreThanAJobNeeds) {
  TargetJob job;
  job.settings.chunk_bytes = 1 << 20;
  job.streams.transport = Transport::tcp;
  agent.tell(job);
  ASSERT_TRUE(agent.hear<TargetReady>());
  Begin begin;
  begin.streams = kStreamsMax;
  begin.chunk_bytes = kChunkBytesMax;
  begin.target_slots = kSlotsMax;
  expect_refused(begin, "asks for more memory than any job needs");
}

TEST_F(ReceiveOnlyPolicyAgent, TheCoordinatorsLastWordIsKept) {
  agent.tell(Finish{.status = 5});
  const AgentEnd ended = agent.join();
  EXPECT_EQ(ended.status, 5);
  EXPECT_FALSE(ended.aborted || ended.signal || ended.done);
}

TEST_F(ReceiveOnlyPolicyAgent, ACoordinatorThatIsGoneHasNoLastWord) {
  agent.leave();
  const AgentEnd ended = agent.join();
  EXPECT_FALSE(ended.status);
  EXPECT_TRUE(ended.complete);
}

}  // namespace
}  // namespace rdcp::tree
