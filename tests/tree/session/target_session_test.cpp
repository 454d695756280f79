#include "tree/session/target_session.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/tree/heard.h"

namespace rdcp::tree {
namespace {

class TargetSessionTest : public testing::Test {
 protected:
  static io::Error error(int code) { return io::errno_error("write", "file", code); }

  Heard heard;
  TargetJob job;
  TargetSession session{job, heard.reporter};
};

TEST_F(TargetSessionTest, WhatOneFileMetIsReportedAndTheRunGoesOn) {
  session.report(error(EIO));
  session.report(error(EACCES));
  EXPECT_FALSE(session.giving_up());
  EXPECT_EQ(heard.problems().size(), 2u);
}

TEST_F(TargetSessionTest, WhatAllFilesWouldMeetEndsTheRunAndIsToldOnce) {
  for (const int code : {ENOSPC, EDQUOT, EROFS, EPIPE}) {
    Heard each;
    TargetSession one(job, each.reporter);
    one.report(error(code));
    one.report(error(code));
    EXPECT_TRUE(one.refusing()) << code;
    ASSERT_EQ(each.problems().size(), 1u) << code;
    EXPECT_TRUE(each.problems()[0].ends_run) << code;
  }
}

TEST_F(TargetSessionTest, StoppedIsNotRefusing) {
  session.stop();
  EXPECT_TRUE(session.giving_up());
  EXPECT_FALSE(session.refusing());
}

TEST_F(TargetSessionTest, TheTallyCountsWhatWasMisread) {
  session.tally.note_misread("a");
  session.tally.note_misread("b");
  const Done done = session.tally.done();
  ASSERT_EQ(done.warnings.size(), 1u);
  EXPECT_NE(done.warnings[0].find("2 pieces, first of a"), std::string::npos) << done.warnings[0];
}

TEST_F(TargetSessionTest, StreamsAreDescribedByTheirNumber) {
  session.tally.describe_stream(2, "");
  session.tally.describe_stream(1, "one");
  const Done done = session.tally.done();
  ASSERT_EQ(done.streams.size(), 3u);
  EXPECT_EQ(done.streams[1], "one");
  EXPECT_EQ(done.streams[2], "");
}

}  // namespace
}  // namespace rdcp::tree
