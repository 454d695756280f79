// Text from a peer is made visible where it is decoded; names stay as they are.
#include <gtest/gtest.h>

#include "tree/messages/changes.h"
#include "tree/messages/finding.h"
#include "tree/messages/hello.h"
#include "tree/messages/job.h"
#include "tree/messages/measure_job.h"
#include "tree/messages/message.h"
#include "tree/messages/segment_job.h"
#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

const std::string kRaw = "\x1b[2J\xc2\x9b\u202e\xff\n";
const std::string kSeen = "\\x1b[2J\\xc2\\x9b\\xe2\\x80\\xae\\xff\\n";

template <class Message>
Message arrived(Message sent) {
  Message got;
  EXPECT_TRUE(decode_fields(encode_fields(sent), got));
  return got;
}

TEST(Codec, WordsAreMadeVisible) {
  EXPECT_EQ(arrived(Problem{.text = kRaw}).text, kSeen);
  Hello hello;
  hello.program_version = kRaw;
  EXPECT_EQ(arrived(hello).program_version, kSeen);
  EXPECT_EQ(arrived(SegmentEnd{.problem = kRaw}).problem, kSeen);
  EXPECT_EQ(arrived(Changes{{{kRaw, kRaw, kRaw}}}).list[0].code, kSeen);
}

TEST(Codec, WordsInListsAreMadeVisible) {
  Done done;
  done.streams = done.notes = done.lost_streams = done.warnings = {"", kRaw};
  done.ring = kRaw;
  done.losses = {{.first_path = kRaw, .cause = kRaw}};
  done = arrived(done);
  for (const auto* list : {&done.streams, &done.notes, &done.lost_streams, &done.warnings}) {
    EXPECT_EQ(list->at(1), kSeen);
  }
  EXPECT_EQ(done.ring, kSeen);
  EXPECT_EQ(done.losses[0].cause, kSeen);
  Measured measured;
  measured.streams = measured.notes = {kRaw};
  measured = arrived(measured);
  EXPECT_EQ(measured.streams[0] + measured.notes[0], kSeen + kSeen);
}

TEST(Codec, WordsOfAHostAreMadeVisible) {
  const Findings findings = arrived(Findings{{{Level::ok, kRaw, kRaw, kRaw}}});
  const Finding& finding = findings.findings.at(0);
  EXPECT_EQ(finding.subject + finding.text + finding.advice, kSeen + kSeen + kSeen);
  MeasureReady ready;
  ready.reach.no_tcp_because = kRaw;
  ready.reach.rdma.none_because = kRaw;
  ready = arrived(ready);
  EXPECT_EQ(ready.reach.no_tcp_because + ready.reach.rdma.none_because, kSeen + kSeen);
}

TEST(Codec, NamesStayAsTheyAre) {
  EXPECT_EQ(arrived(Progress{.path = kRaw}).path, kRaw);
  EXPECT_EQ(arrived(Changes{{{"", kRaw, kRaw}}}).list[0].path, kRaw);
  TargetJob job;
  job.path = kRaw;
  EXPECT_EQ(arrived(job).path, kRaw);
}

}  // namespace
}  // namespace rdcp::tree
