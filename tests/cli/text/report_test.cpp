#include "cli/text/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/text/exit_status.h"

namespace rdcp::cli {
namespace {

Summary two_gigabytes() {
  Summary summary;
  summary.files = 5678;
  summary.directories = 12;
  summary.others = 1;
  summary.bytes = 2'147'483'648;
  summary.seconds = 0.5;
  summary.streams = 2;
  summary.ways = {"tcp", "tcp"};
  summary.ring = "io_uring";
  summary.limited_by = "target writes (3.7 GB/s)";
  return summary;
}

TEST(Report, SummaryEndsWithTheBandwidthAlone) {
  EXPECT_EQ(summary_lines(two_gigabytes()),
            "rdcp: copied 5,678 files, 12 directories, 1 other entry, 2.15 GB in 0.500 s\n"
            "rdcp: 2 streams over tcp; files by io_uring\n"
            "rdcp: limited by target writes (3.7 GB/s)\n"
            "Bandwidth 4.295 GB/s\n");
}

TEST(Report, NothingIsCalledCopiedThatMayNotBeThere) {
  Summary summary = two_gigabytes();
  summary.is_complete = false;
  EXPECT_THAT(summary_lines(summary),
              ::testing::StartsWith("rdcp: not all copied of 5,678 files, 12 directories, "));
  EXPECT_THAT(summary_line(summary),
              ::testing::HasSubstr("rdcp: 5,678 files, 2.15 GB in 0:00, not all copied, "));
}

TEST(Report, StreamsThatDidNotComeAreLeftOut) {
  Summary summary = two_gigabytes();
  summary.ways = {"tcp", "tcp", "", "tcp"};
  EXPECT_NE(summary_lines(summary).find("rdcp: 2 streams over tcp; files by io_uring\n"), std::string::npos);
  summary.ways = {"rdma a", "", "rdma b"};
  EXPECT_NE(summary_lines(summary).find("io_uring\nrdcp: stream 0 over rdma a\nrdcp: stream 2 over rdma b\n"),
            std::string::npos)
      << summary_lines(summary);
}

TEST(Report, SummaryLeavesOutWhatWasNot) {
  Summary summary;
  summary.files = 1;
  summary.seconds = 0.25;
  EXPECT_EQ(summary_lines(summary), "rdcp: copied 1 file, 0 B in 0.250 s\nBandwidth 0.000 GB/s\n");
}

TEST(Report, TheSummaryForPrograms) {
  Summary summary = two_gigabytes();
  summary.compress = true;
  summary.payload_bytes = 2'000;
  summary.packed_bytes = 500;
  summary.wire_bytes = 700;
  summary.losses = {{"owner or group", 2, "a\xff", "Operation not permitted"}, {"xattrs", 0, "", ""}};
  const auto json = nlohmann::json::parse(json_text(summary_json(summary)));
  EXPECT_EQ(json["files"], 5678);
  EXPECT_EQ(json["bytes"], 2'147'483'648);
  EXPECT_EQ(json["streams"], (nlohmann::json{"tcp", "tcp"}));
  EXPECT_EQ(json["sent_bytes"], 700);
  EXPECT_EQ(json["ratio"], 4.0);
  EXPECT_EQ(json["encrypted"], false);
  EXPECT_EQ(json["not_kept"].size(), 1u);
  EXPECT_EQ(json["not_kept"][0]["first_path"], "a\xef\xbf\xbd");
}

TEST(Report, NoTimeIsNoInfiniteBandwidth) {
  Summary summary = two_gigabytes();
  summary.seconds = 0;
  EXPECT_TRUE(summary_lines(summary).ends_with("\nBandwidth 0.000 GB/s\n"));
}

TEST(Report, WhatWasWrappedIsTold) {
  Summary summary = two_gigabytes();
  summary.encrypted = true;
  summary.compress = true;
  summary.payload_bytes = 2'150'000'000;
  summary.packed_bytes = 500'000'000;
  EXPECT_NE(
      summary_lines(summary).find("rdcp: encrypted\nrdcp: compressed 2.15 GB to 500.00 MB (4.30 : 1)\n"),
      std::string::npos)
      << summary_lines(summary);
  summary.payload_bytes = summary.packed_bytes = 0;  // nothing had to be sent
  EXPECT_NE(summary_lines(summary).find("compressed 0 B to 0 B (1.00 : 1)\n"), std::string::npos)
      << summary_lines(summary);
}

TEST(Report, RetriedChunksAreTold) {
  Summary summary = two_gigabytes();
  summary.retried_chunks = 2;
  EXPECT_NE(summary_lines(summary).find("rdcp: 2 chunks sent again"), std::string::npos);
}

TEST(Report, EachKindOfLossIsOneLineWithItsCountAndFirstCase) {
  Summary summary;
  summary.losses = {{"owner or group", 1234,
                     "a/\x1b"
                     "b",
                     "Operation not permitted"},
                    {"times", 0, "", ""},
                    {"device nodes", 1, "dev/null", "not root"}};
  EXPECT_EQ(
      warning_lines(summary),
      "rdcp: warning: not kept: owner or group (1,234 entries; first a/\\x1bb: Operation not permitted)\n"
      "rdcp: warning: not kept: device nodes (1 entry; first dev/null: not root)\n");
}

TEST(Report, WarningsAreOneSafeLineEach) {
  Summary summary;
  summary.warnings = {"a\nb", "c"};
  EXPECT_EQ(warning_lines(summary), "rdcp: warning: a\\nb\nrdcp: warning: c\n");
  EXPECT_EQ(warning_lines(Summary{}), "");
}

TEST(Report, ErrorsNameProgramAndCause) {
  EXPECT_EQ(error_line(io::errno_error("open", "/a", EACCES)), "rdcp: open /a: Permission denied\n");
}

TEST(ExitStatus, FollowsTheKindOfError) {
  EXPECT_EQ(exit_status(io::ErrorKind::file), 1);
  EXPECT_EQ(exit_status(io::ErrorKind::usage), 2);
  EXPECT_EQ(exit_status(io::ErrorKind::unreachable), 3);
  EXPECT_EQ(exit_status(io::ErrorKind::connection), 4);
  EXPECT_EQ(exit_status(io::ErrorKind::protocol), 4);
  EXPECT_EQ(exit_status(io::ErrorKind::digest), 5);
}

TEST(ExitStatus, InterruptedRunsNameTheirSignal) {
  EXPECT_EQ(exit_status(io::ErrorKind::interrupted, SIGINT), 130);
  EXPECT_EQ(exit_status(io::ErrorKind::interrupted, SIGTERM), 143);
  EXPECT_EQ(exit_status(io::ErrorKind::interrupted), 4);
}

}  // namespace
}  // namespace rdcp::cli
