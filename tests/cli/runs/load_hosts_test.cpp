#include "cli/runs/load_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "cli/options/destination.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Programs that a test makes are found first.
struct LoadHostsTest : testing::Test {
  LoadHostsTest() { ::setenv("PATH", (scratch.path() + ":" + path).c_str(), 1); }
  ~LoadHostsTest() override {
    ::setenv("PATH", path.c_str(), 1);
    ::unsetenv("SLURM_JOB_NODELIST");
  }
  void make_program(const std::string& name, const std::string& lines) {
    tree::write_file(scratch / name, "#!/bin/sh\n" + lines);
    std::filesystem::permissions(scratch / name, std::filesystem::perms::owner_all);
  }
  static Options options_of(const std::string& destination, const std::string& from = {}) {
    Options options;
    options.host_words.from = from;
    const auto taken = take_destination(destination, options);
    EXPECT_TRUE(taken) << (taken ? "" : taken.error().message());
    return options;
  }
  static std::vector<std::string> loaded(Options options) {
    const auto done = load_hosts(options);
    EXPECT_TRUE(done) << (done ? "" : done.error().message());
    std::vector<std::string> texts;
    for (const Location& target : targets_of(options)) texts.push_back(target.text());
    return texts;
  }
  static std::string refused(Options options) {
    const auto done = load_hosts(options);
    EXPECT_FALSE(done);
    return done ? "" : done.error().message();
  }

  tree::ScratchDirectory scratch;
  const std::string path = ::getenv("PATH");
};

TEST_F(LoadHostsTest, OnePlaceStaysWhatItIs) {
  EXPECT_THAT(loaded(options_of("host:x")), ElementsAre("host:x"));
  EXPECT_THAT(loaded(options_of("[::1]:x")), ElementsAre("[::1]:x"));
  EXPECT_THAT(loaded(options_of("./a,b:x")), ElementsAre("./a,b:x"));
}

TEST_F(LoadHostsTest, AListHasThePathOfItsEnd) {
  EXPECT_THAT(loaded(options_of("me@h[1-2],k:~/x")), ElementsAre("me@h1:x", "me@h2:x", "k:x"));
  EXPECT_THAT(loaded(options_of("h[0-4/2]:/a/b:c")), ElementsAre("h0:/a/b:c", "h2:/a/b:c", "h4:/a/b:c"));
}

TEST_F(LoadHostsTest, AFileHasListsAndRemarks) {
  const std::string file = scratch / "hosts";
  tree::write_file(file, "# all\nh[1-2] h2\n\n  k # and this\nme@k,h3");
  EXPECT_THAT(loaded(options_of(":/x", file)), ElementsAre("h1:/x", "h2:/x", "k:/x", "me@k:/x", "h3:/x"));
}

TEST_F(LoadHostsTest, AFileThatNamesNobodyOrNonsenseIsRefused) {
  const std::string file = scratch / "hosts";
  EXPECT_THAT(refused(options_of(":/x", file)), HasSubstr("No such file"));
  tree::write_file(file, "# nobody\n");
  EXPECT_THAT(refused(options_of(":/x", file)), HasSubstr("names no host"));
  for (const char* nonsense : {"h[2-1]", "-oProxyCommand=x", "h;rm", "h1,,h2"}) {
    tree::write_file(file, nonsense);
    EXPECT_NE(refused(options_of(":/x", file)), "") << nonsense;
  }
}

TEST_F(LoadHostsTest, SlurmNamesTheNodesOfItsJob) {
  EXPECT_THAT(refused(options_of(":/x", "slurm")), HasSubstr("SLURM_JOB_NODELIST is not set"));
  make_program("scontrol", "[ \"$*\" = 'show hostnames n[1-3]' ] && printf 'n1\\nn2\\nn3\\n'");
  ::setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
  EXPECT_THAT(loaded(options_of(":/x", "slurm")), ElementsAre("n1:/x", "n2:/x", "n3:/x"));
  make_program("scontrol", "exit 7");
  EXPECT_THAT(refused(options_of(":/x", "slurm")), HasSubstr("status 7"));
}

TEST_F(LoadHostsTest, AnEmptyGroupIsNamedAsItWasWritten) {
  make_program("nodeset", "exit 0\n");
  EXPECT_EQ(refused(options_of("@none:x")), "list of hosts @none: it names no host");
}

TEST_F(LoadHostsTest, AGroupIsWhatNodesetSays) {
  make_program("nodeset", "[ \"$*\" = '--expand @gpus' ] && echo g1 g2 h1");
  EXPECT_THAT(loaded(options_of("h1,@gpus:/x")), ElementsAre("h1:/x", "g1:/x", "g2:/x"));
  EXPECT_THAT(refused(options_of("@others:/x")), HasSubstr("ask nodeset for @others"));
  make_program("nodeset", "echo @gpus");
  EXPECT_THAT(refused(options_of("@gpus:/x")), HasSubstr("does not know this group"));
}

}  // namespace
}  // namespace rdcp::cli
