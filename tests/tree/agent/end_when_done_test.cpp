// Two agents that copy one file, and a coordinator that is played by hand: which of them ends by itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/tree/agent/held_agent.h"
#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {
namespace {

// This process goes on after them.
AgentConfig unconfined() {
  AgentConfig config;
  config.confinement = Confinement::none;
  return config;
}

struct EndWhenDoneTest : testing::Test {
  void SetUp() override {
    std::ofstream(scratch / "file", std::ios::binary) << std::string(100'000, 'x');
    SourceJob source_job;
    source_job.paths = {scratch / "file"};
    TargetJob target_job;
    target_job.path = scratch / "copy";
    for (CopySettings* settings : {&source_job.settings, &target_job.settings})
      settings->chunk_bytes = 1 << 20;
    for (StreamWish* streams : {&source_job.streams, &target_job.streams}) {
      streams->transport = Transport::tcp;
      streams->key = key;
    }
    target_job.streams.connect = Connect::listen;
    source.tell(source_job);
    target.tell(target_job);
  }
  void begin() {
    ASSERT_TRUE(source.hear<SourceReady>());
    const auto ready = target.hear<TargetReady>();
    ASSERT_TRUE(ready);
    Begin begin;
    begin.chunk_bytes = 1 << 20;
    begin.hosts = {"127.0.0.1"};
    begin.port = ready->reach.port;
    begin.beneath_parent = true;
    begin.landings = {"copy"};
    target.tell(begin);
    source.tell(begin);
  }
  void expect_copy() {
    for (HeldAgent* agent : {&source, &target}) {
      const auto done = agent->hear<Done>();
      ASSERT_TRUE(done);
      EXPECT_TRUE(done->complete);
    }
    EXPECT_EQ(std::filesystem::file_size(scratch / "copy"), 100'000u);
  }

  ScratchDirectory scratch;
  const net::SessionKey key = net::make_session_key().value();
  HeldAgent source{"source", unconfined()};
  HeldAgent target{"target", unconfined()};
};

TEST_F(EndWhenDoneTest, AnAgentThatMayEndsWithoutAnotherWord) {
  target.tell(EndWhenDone());
  source.tell(EndWhenDone());
  begin();
  expect_copy();
  for (HeldAgent* agent : {&source, &target}) {
    const AgentEnd end = agent->join();
    EXPECT_TRUE(end.complete && end.done);
    EXPECT_FALSE(end.status) << "nobody has told one";
  }
}

TEST_F(EndWhenDoneTest, OthersWaitForTheLastWord) {
  begin();
  expect_copy();
  for (HeldAgent* agent : {&source, &target}) {
    agent->tell(Ping());  // it is still there
    EXPECT_TRUE(agent->hear<Pong>());
    agent->tell(Finish{.status = 3});
    EXPECT_EQ(agent->join().status, 3);
  }
}

}  // namespace
}  // namespace rdcp::tree
