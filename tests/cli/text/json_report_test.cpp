#include "cli/text/json_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace rdcp::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::MatchesRegex;

Summary copy_of(std::uint64_t files) {
  Summary summary;
  summary.files = files;
  summary.bytes = files * 1000;
  summary.seconds = 0.5;
  summary.ways = {"tcp"};
  return summary;
}

TEST(JsonReport, TheLastLineHasTheStatusAndTheSum) {
  JsonReport report(JsonForm::results);
  EXPECT_EQ(report.start({"a:x"}, {"/y"}), "");
  EXPECT_EQ(report.finished(copy_of(2)), "");
  EXPECT_EQ(report.start({"b:x"}, {"/y"}), "");
  EXPECT_EQ(report.finished(copy_of(3)), "");
  const json last = json::parse(report.end(0));
  EXPECT_EQ(last["version"], 1);
  EXPECT_EQ(last["status"], 0);
  EXPECT_EQ(last["files"], 5);
  EXPECT_EQ(last["bytes"], 5000);
  EXPECT_EQ(last["seconds"], 1.0);
  EXPECT_EQ(last["error_count"], 0);
  EXPECT_EQ(last["errors"], json::array());
  EXPECT_FALSE(last.contains("event"));
}

TEST(JsonReport, ACopyThatIsMadeAnewCountsOnce) {
  JsonReport report(JsonForm::events);
  report.start({"x"}, {"y"});
  report.finished(copy_of(2));
  report.start({"b:x"}, {"y"});
  report.finished(copy_of(3));
  const json retry = json::parse(report.retry(seconds(4)));
  EXPECT_EQ(retry["event"], "retry");
  EXPECT_EQ(retry["after_seconds"], 4);
  report.retry(seconds(8));  // nothing had come to its end
  report.finished(copy_of(5));
  EXPECT_EQ(json::parse(report.end(0))["files"], 7);
}

TEST(JsonReport, TheFirstLineNamesEveryHost) {
  JsonReport report(JsonForm::events);
  const json one = json::parse(report.start({"x"}, {"a:y"}));
  EXPECT_EQ(one["destination"], "a:y");
  EXPECT_FALSE(one.contains("destinations"));
  const json two = json::parse(report.start({"x"}, {"a:y", "b:y"}));
  EXPECT_EQ(two["destination"], "a:y");
  EXPECT_EQ(two["destinations"], (json{"a:y", "b:y"}));
}

TEST(JsonReport, EveryErrorSaysWhereItWas) {
  JsonReport report(JsonForm::events);
  const io::Error denied = io::errno_error("open", "/a\xff", EACCES);
  const json event = json::parse(report.problem(json_problem(denied)));
  EXPECT_EQ(event["event"], "problem");
  EXPECT_EQ(event["kind"], "file");
  EXPECT_EQ(event["path"], "/a\xef\xbf\xbd");
  EXPECT_EQ(event["errno"], "EACCES");
  EXPECT_EQ(event["message"], denied.message());
  EXPECT_FALSE(event.contains("host"));
  report.problem({.kind = io::ErrorKind::connection, .host = "gpu7", .text = "lost"});
  const json last = json::parse(report.end(4));
  EXPECT_EQ(last["event"], "end");
  EXPECT_EQ(last["status"], 4);
  EXPECT_FALSE(last.contains("files"));  // no copy came to its end
  EXPECT_EQ(last["error_count"], 2);
  EXPECT_EQ(last["errors"][1], (json{{"kind", "connection"}, {"host", "gpu7"}, {"message", "lost"}}));
}

TEST(JsonReport, TheLastLineHasTheFirstErrorsAndCountsTheRest) {
  JsonReport report(JsonForm::results);
  for (std::size_t i = 0; i < JsonReport::kProblemsMax + 5; ++i) EXPECT_EQ(report.problem({.text = "x"}), "");
  const json last = json::parse(report.end(1));
  EXPECT_EQ(last["errors"].size(), JsonReport::kProblemsMax);
  EXPECT_EQ(last["error_count"], JsonReport::kProblemsMax + 5);
}

TEST(JsonReport, ProgressComesOnceASecond) {
  JsonReport report(JsonForm::events);
  const auto begun = ProgressClock::now();
  const ProgressState half{.bytes_done = 50, .bytes_total = 100, .walk_finished = true, .path = "p"};
  const json first = json::parse(report.progress(half, begun));
  EXPECT_THAT(first["time"].get<std::string>(), MatchesRegex("20[0-9-]{8}T[0-9:]{8}\\.[0-9]{3}Z"));
  EXPECT_EQ(first["bytes_done"], 50);
  EXPECT_EQ(first["totals_are_final"], true);
  EXPECT_FALSE(first.contains("hosts"));
  EXPECT_EQ(report.progress(half, begun + milliseconds(999)), "");
  const ProgressState done{.bytes_done = 100,
                           .bytes_total = 100,
                           .walk_finished = true,
                           .path = "p",
                           .hosts = {.all = 3, .done = 1, .failed = 1}};
  const json second = json::parse(report.progress(done, begun + seconds(1)));
  EXPECT_EQ(second["bytes_per_second"], 50);
  EXPECT_EQ(second["hosts"], (json{{"all", 3}, {"done", 1}, {"failed", 1}}));
  EXPECT_EQ(JsonReport(JsonForm::results).progress(half, begun), "");
}

TEST(JsonReport, ChangesAndWarnings) {
  const tree::Change change{io::Words(">f+++++++++"), "a", ""};
  EXPECT_EQ(JsonReport(JsonForm::results).change(change, true),
            "{\"change\":\"<f+++++++++\",\"path\":\"a\"}\n");
  JsonReport events(JsonForm::events);
  EXPECT_EQ(json::parse(events.change(change, false))["event"], "change");
  EXPECT_EQ(json::parse(events.warning("slow\n"))["message"], "slow");
  Summary summary = copy_of(1);
  summary.warnings = {io::Words("a stream was lost")};
  EXPECT_EQ(json::parse(events.finished(summary))["message"], "a stream was lost");
}

TEST(JsonReport, FurtherCountsStandInTheLastLine) {
  JsonReport report(JsonForm::results);
  report.count("differences", 7);
  EXPECT_EQ(json::parse(report.end(1))["differences"], 7);
}

}  // namespace
}  // namespace rdcp::cli
