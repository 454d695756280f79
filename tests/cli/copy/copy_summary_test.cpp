#include "cli/copy/copy_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

tree::Done target_that_says(std::uint64_t lost, const std::string& warning = {}) {
  tree::Done done;
  done.losses = {{tree::LossKind::owner, lost, "a/b", io::Words("not permitted")}};
  if (!warning.empty()) done.warnings = {io::Words(warning)};
  done.notes = {io::Words("confined")};
  return done;
}

TEST(CopySummaryTest, OneTargetIsNotNamed) {
  const tree::Done target = target_that_says(2, "no locks");
  const Summary summary = summary_of({}, {}, {{"", target}}, {}, 1);
  EXPECT_EQ(warning_lines(summary),
            "rdcp: warning: no locks\n"
            "rdcp: warning: not kept: owner or group (2 entries; first a/b: not permitted)\n");
  EXPECT_FALSE(summary_json(summary)["not_kept"][0].contains("hosts"));
}

// What the first one keeps the last one may lose.
TEST(CopySummaryTest, EveryOneOfSeveralTargetsIsHeard) {
  const tree::Done first = target_that_says(0), second = target_that_says(0, "no locks"),
                   third = target_that_says(3);
  const Summary summary = summary_of({}, {}, {{"h1", first}, {"h2", second}, {"h3", third}}, {}, 1);
  EXPECT_EQ(warning_lines(summary),
            "rdcp: warning: h2: no locks\n"
            "rdcp: warning: not kept: owner or group (3 entries on h3; first a/b: not permitted)\n");
  EXPECT_EQ(summary_json(summary)["not_kept"][0]["hosts"], nlohmann::ordered_json({"h3"}));
}

TEST(CopySummaryTest, SshIsNamedWhereItCarriesTheStreams) {
  tree::Done source;
  source.streams = {io::Words("unix socket to a process of this host"), io::Words("")};
  const tree::Done target = target_that_says(0);
  Summary summary = summary_of({}, source, {{"", target}}, {}, 1);
  name_carrier(summary, "kubectl");
  EXPECT_EQ(summary_json(summary)["streams"], nlohmann::ordered_json({"kubectl", ""}));
  EXPECT_EQ(summary_json(summary)["encrypted"], false);
  name_carrier(summary, "ssh");
  EXPECT_EQ(summary_json(summary)["streams"], nlohmann::ordered_json({"ssh, which encrypts it", ""}));
  EXPECT_EQ(summary_json(summary)["encrypted"], true);
}

TEST(CopySummaryTest, WhatManyTargetsSayIsOneLine) {
  std::vector<tree::Done> said(20, target_that_says(5));
  std::vector<EndedTarget> targets;
  for (std::size_t i = 0; i < said.size(); ++i) targets.push_back({"h" + std::to_string(i), said[i]});
  const Summary summary = summary_of({}, {}, targets, {}, 1);
  EXPECT_THAT(warning_lines(summary),
              HasSubstr("(100 entries on 20 hosts, h0 the first of them; first a/b: "));
  EXPECT_THAT(summary.notes, ElementsAre("h0: confined"));
}

}  // namespace
}  // namespace rdcp::cli
