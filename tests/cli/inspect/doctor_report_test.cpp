#include "cli/inspect/doctor_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/layout/data_path.h"
#include "cli/text/version.h"
#include "tree/doctor/examine.h"

namespace rdcp::cli {
namespace {

using nlohmann::json;
using tree::Finding;
using tree::Level;

std::vector<HostReport> two_hosts() {
  return {{"this host",
           {{Level::ok, "RDMA", "no RDMA device: TCP will be used", ""},
            {Level::warning, "huge pages", "off", "switch them on"}}},
          {"bob@hostb", {{Level::problem, "rdma_ucm", "not loaded", "modprobe rdma_ucm"}}}};
}

TEST(DoctorReport, ColumnsAreAlignedOverAllHosts) {
  EXPECT_EQ(report_text(two_hosts()),
            "this host\n"
            "  ok       RDMA        no RDMA device: TCP will be used\n"
            "  warning  huge pages  off\n"
            "                       -> switch them on\n"
            "bob@hostb\n"
            "  problem  rdma_ucm    not loaded\n"
            "                       -> modprobe rdma_ucm\n"
            "1 problem, 1 warning\n");
}

TEST(DoctorReport, OnlyProblemsAreProblems) {
  EXPECT_TRUE(has_problem(two_hosts()));
  EXPECT_FALSE(has_problem({two_hosts()[0]}));
  EXPECT_FALSE(has_problem({}));
}

TEST(DoctorReport, ALevelThatNobodyKnowsIsAProblem) {
  const std::vector<HostReport> hosts{{"h", {{static_cast<Level>(9), "x", "y", ""}}}};
  EXPECT_TRUE(has_problem(hosts));
  EXPECT_EQ(report_text(hosts), "h\n  problem  x  y\n1 problem, 0 warnings\n");
}

TEST(DoctorReport, APeerCannotWriteToTheTerminal) {
  const std::string text = report_text({{"h", {{Level::ok, "\x1b[2J", "a\nb", "\x07"}}}});
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_EQ(text.find('\x07'), text.npos);
  EXPECT_NE(text.find("a\\nb"), text.npos);
}

TEST(DoctorReport, JsonHoldsTheSame) {
  const json report = json::parse(report_json(two_hosts(), {}));
  EXPECT_EQ(report["version"], kVersion);
  EXPECT_EQ(report["problems"], 1);
  EXPECT_EQ(report["warnings"], 1);
  ASSERT_EQ(report["hosts"].size(), 2U);
  EXPECT_EQ(report["hosts"][1]["name"], "bob@hostb");
  const json expected = {
      {"level", "warning"}, {"subject", "huge pages"}, {"text", "off"}, {"advice", "switch them on"}};
  EXPECT_EQ(report["hosts"][0]["findings"][1], expected);
}

TEST(DoctorReport, JsonIsValidWhateverAPeerSends) {
  const std::string text =
      report_json({{"h\"\\", {{Level::ok, "\xff\xfe", std::string("a\0\n\x1b", 4), "\xc3"}}}}, {});
  const json report = json::parse(text, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << text;
  EXPECT_EQ(report["hosts"][0]["name"], "h\"\\");
  EXPECT_EQ(report["hosts"][0]["findings"][0]["subject"], "\uFFFD\uFFFD");
  EXPECT_EQ(report["hosts"][0]["findings"][0]["text"], std::string("a\0\n\x1b", 4));
}

// The doctor says "problem" just where a copy would give up RDMA, and "warning" where it would shrink.
TEST(Doctor, JudgesLockedMemoryAsTheCopyDoes) {
  net::RdmaPort port;
  port.device = "rxe0";
  port.interface = "eth0";
  port.host = "10.0.0.1";
  port.prefix_bits = 24;
  const auto path_with = [&port](std::uint64_t lockable) {
    tree::Reach reach;
    reach.hosts = {"10.0.0.1"};
    reach.rdma.usable = {port};
    reach.lockable_bytes = lockable;
    DataPathWish wish;
    wish.chunk_bytes = 1 << 20;
    wish.cpus = 64;
    wish.round_trip = std::chrono::seconds(1);
    return choose_data_path(wish, {"a", reach}, {"b", reach});
  };
  EXPECT_TRUE(path_with(tree::kLockedBytesLeast - 1)->rails.empty());
  EXPECT_FALSE(path_with(tree::kLockedBytesLeast)->rails.empty());
  EXPECT_FALSE(path_with(tree::kLockedBytesLeast)->notes.empty());
  EXPECT_TRUE(path_with(tree::kLockedBytesWanted)->notes.empty());
}

MeasuredPath measured(tree::Transport transport) {
  MeasuredPath path;
  path.transport = transport;
  path.reachable = true;
  path.bytes = 3'000'000'000;
  path.seconds = 1.5;
  path.chunk_bytes = 1 << 20;
  path.streams = {"a", "b"};
  return path;
}

TEST(DoctorPaths, RatesAreToldOfBoth) {
  const HostReport report =
      path_report("far", {measured(tree::Transport::rdma), measured(tree::Transport::tcp)});
  EXPECT_EQ(report.name, "from this host to far");
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].subject, "RDMA");
  EXPECT_EQ(report.findings[0].text, "2.00 GB/s from memory to memory, 2 streams of chunks of 1.05 MB");
  EXPECT_FALSE(has_problem({report}));
}

TEST(DoctorPaths, ATrafficClassThatIsAskedForIsTold) {
  MeasuredPath marked = measured(tree::Transport::tcp);
  EXPECT_FALSE(json::parse(report_json({}, {marked}))["transfers"][0].contains("tos"));
  marked.traffic_class = 106;
  marked.notes = {"far: a note"};
  EXPECT_EQ(path_report("far", {marked}).findings[0].text,
            "2.00 GB/s from memory to memory, 2 streams of chunks of 1.05 MB, traffic class 106 (DSCP 26, "
            "af31); far: a note");
  EXPECT_EQ(json::parse(report_json({}, {marked}))["transfers"][0]["tos"], 106);
}

TEST(DoctorPaths, NoRdmaIsNoProblemButNoPathIs) {
  MeasuredPath rdma = measured(tree::Transport::rdma);
  rdma.failure = "use RDMA to far: no common subnet";
  EXPECT_TRUE(has_problem({path_report("far", {rdma})}));
  rdma.reachable = false;
  EXPECT_FALSE(has_problem({path_report("far", {rdma})}));
  MeasuredPath tcp = measured(tree::Transport::tcp);
  tcp.failure = "connect to 10.0.0.1:80: Connection refused";
  EXPECT_TRUE(has_problem({path_report("far", {tcp})}));
}

std::string outcome(const std::vector<MeasuredPath>& paths) {
  return path_report("far", paths).outcome;
}

TEST(DoctorPaths, TheLastLineSaysWhichACopyWouldTakeAndWhatItGives) {
  MeasuredPath rdma = measured(tree::Transport::rdma);
  MeasuredPath tcp = measured(tree::Transport::tcp);
  tcp.bytes /= 2;
  EXPECT_EQ(
      outcome({rdma, tcp}),
      "a copy to far would go over RDMA, which gives 2.00 GB/s from memory to memory: a and 1 stream more");
  rdma.failure = "use RDMA to far: no common subnet";
  EXPECT_EQ(
      outcome({rdma, tcp}),
      "a copy to far would go over TCP, which gives 1.00 GB/s from memory to memory: a and 1 stream more");
  EXPECT_EQ(outcome({rdma}), "no copy to far is possible over RDMA alone");
  tcp.failure = "connect to 10.0.0.1:80: Connection refused";
  EXPECT_EQ(outcome({rdma, tcp}),
            "a copy to far would have to be connected from there, or to go through ssh");
  const std::vector<HostReport> reports{path_report("far", {tcp}), path_report("e\x1b[2J", {rdma})};
  const std::string text = report_text(reports);
  EXPECT_TRUE(
      text.ends_with("a copy to far would have to be connected from there, or to go through ssh\n"
                     "no copy to e\\x1b[2J is possible over RDMA alone\n"))
      << text;
  EXPECT_EQ(json::parse(report_json(reports, {}))["hosts"][0]["outcome"], reports[0].outcome);
  EXPECT_FALSE(json::parse(report_json(two_hosts(), {}))["hosts"][0].contains("outcome"));
}

TEST(DoctorPaths, WithoutAnotherHostTheLastLineSaysWhatThisOneHas) {
  tree::HostFacts facts;
  facts.lockable_bytes = tree::kLockedBytesWanted;
  facts.ports.none_because = "no RDMA device";
  EXPECT_EQ(outcome_of_facts(facts), "copies from this host go over TCP: no RDMA device");
  net::RdmaPort port;
  port.device = "mlx5_0";
  port.megabits = 400'000;
  facts.ports.usable = {port, port};  // two addresses
  port.device = "mlx5_1";
  facts.ports.usable.push_back(port);
  EXPECT_EQ(outcome_of_facts(facts),
            "copies from this host can go over RDMA by mlx5_0/1, mlx5_1/1 (800 Gb/s); name the other host to "
            "have the "
            "path measured");
  facts.lockable_bytes = tree::kLockedBytesLeast - 1;
  EXPECT_EQ(outcome_of_facts(facts),
            "copies from this host go over TCP: too little memory may be locked for RDMA");
}

TEST(DoctorPaths, JsonHasTheNumbers) {
  MeasuredPath failed = measured(tree::Transport::rdma);
  failed.failure = "why";
  failed.host = "far";
  const json report = json::parse(report_json({}, {failed, measured(tree::Transport::tcp)}));
  EXPECT_EQ(report["transfers"][0], (json{{"host", "far"}, {"transport", "rdma"}, {"failure", "why"}}));
  EXPECT_EQ(report["transfers"][1]["bytes"], 3'000'000'000);
  EXPECT_EQ(report["transfers"][1]["streams"].size(), 2u);
}

}  // namespace
}  // namespace rdcp::cli
