#include "cli/launch/way_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/launch/shell_quote.h"
#include "tests/cli/shell.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

namespace fs = std::filesystem;

// A home directory on another host, where the way in is run by real shells. What stands for agents says its
// arguments.
class WayInTest : public ::testing::Test {
 protected:
  // An agent in a file here, as it will be put there.
  AgentFile make_agent(const std::string& content, const std::string& processor) {
    const std::string path = scratch_ / ("rdcp-agent-" + processor);
    std::ofstream(path) << content;
    const std::string sum = run_shell("sha256sum < " + shell_quote(path)).output.substr(0, 64);
    std::ofstream(path + ".sha256") << sum << "  rdcp-agent-" << processor << "\n";
    return {.processor = processor, .path = path, .sha256 = sum, .bytes = content.size()};
  }
  void make_program(const std::string& path, const std::string& name) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\necho " << name << " \"$@\"\n";
    ::chmod(path.c_str(), 0755);
  }
  // What the way in prints; `sent` is its standard input.
  std::string run(const WayIn& way, const std::string& sent = "", const std::string& shell = "/bin/sh") {
    std::ofstream(scratch_ / "sent") << sent;
    fs::create_directories(home());
    return run_shell("env -i HOME=" + shell_quote(home()) + " PATH=/usr/bin:/bin " + shell + " -c " +
                     shell_quote(way_in(way)) + " <" + shell_quote(scratch_ / "sent") + " 2>&1")
        .output;
  }
  std::string home() const { return scratch_ / "home"; }
  std::string cache() const { return home() + "/.cache/rdcp"; }
  static std::string processor() { return run_shell("printf %s \"$(uname -m)\"").output; }

  tree::ScratchDirectory scratch_;
};

const std::string kAgent = "#!/bin/sh\necho put \"$@\"\n";

TEST_F(WayInTest, TheSamePathComesFirstThenTheHome) {
  WayIn way{.same_path = scratch_ / "it's here/rdcp", .agents = {}, .agent_options = {}};
  make_program(home() + "/.local/bin/rdcp", "home");
  EXPECT_EQ(run(way), "home --agent\n");
  make_program(way.same_path, "same");
  EXPECT_EQ(run(way), "same --agent\n");
  way.agent_options = {"--no-landlock", "--bridge=::1,7000"};
  EXPECT_EQ(run(way), "same --agent --no-landlock --bridge=::1,7000\n");
}

TEST_F(WayInTest, AnOptionStaysOneWordWhateverIsInIt) {
  const std::string odd = "--bridge=1;touch " + std::string(scratch_ / "pwned") + ";$(id) '* --no-landlock";
  WayIn way{.same_path = scratch_ / "rdcp", .agents = {}, .agent_options = {odd, "--bridge=fe80::1%eth0,7"}};
  fs::create_directories(home());
  std::ofstream(way.same_path) << "#!/bin/sh\nprintf '<%s>' \"$@\"\n";
  ::chmod(way.same_path.c_str(), 0755);
  EXPECT_EQ(run(way), "<--agent><" + odd + "><--bridge=fe80::1%eth0,7>");
  EXPECT_FALSE(fs::exists(scratch_ / "pwned"));
}

// Whoever has a directory there may have put it at that path.
TEST_F(WayInTest, AProgramThatOthersMayHaveMadeIsPassedOver) {
  const WayIn way{.same_path = scratch_ / "there/rdcp", .agents = {}, .agent_options = {}};
  make_program(home() + "/.local/bin/rdcp", "home");
  make_program(way.same_path, "same");
  for (const mode_t mode : {0775, 0757}) {
    ::chmod(way.same_path.c_str(), mode);
    EXPECT_EQ(run(way), "home --agent\n") << std::oct << mode;
  }
  ::chmod(way.same_path.c_str(), 0755);
  EXPECT_EQ(run(way), "same --agent\n");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(way.same_path.c_str(), tree::kNobody, 0), 0);
  EXPECT_EQ(run(way), "home --agent\n");
}

// csh and fish would take these for something else, even in quotes.
TEST_F(WayInTest, APathThatNotEveryShellCanQuoteIsPassedOver) {
  make_program(home() + "/.local/bin/rdcp", "home");
  for (const char* name : {"a!b/rdcp", "a\\b/rdcp", "a\nb/rdcp"}) {
    const WayIn way{.same_path = scratch_ / name, .agents = {}, .agent_options = {}};
    make_program(way.same_path, "same");
    EXPECT_EQ(run(way), "home --agent\n") << name;
  }
}

TEST_F(WayInTest, AnAgentIsAskedForCheckedAndUsedAgain) {
  const WayIn way{
      .same_path = {}, .agents = {make_agent(kAgent, processor())}, .may_put = true, .agent_options = {}};
  EXPECT_EQ(run(way, kAgent), "\1put " + processor() + " " + cache() + "\nput --agent\n");
  EXPECT_EQ(run(way), "put --agent\n");
  struct stat status {};
  const std::string folder = fs::directory_iterator(cache())->path();
  EXPECT_TRUE(folder.ends_with("-" + way.agents.front().sha256)) << folder;
  ASSERT_EQ(::stat((folder + "/rdcp").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);  // nothing temporary
}

// As with --no-deploy, and for a bridge, whose standard input is data.
TEST_F(WayInTest, WhereNoneMayBePutOneThatIsThereIsUsed) {
  WayIn way{.same_path = {}, .agents = {make_agent(kAgent, processor())}, .agent_options = {}};
  EXPECT_EQ(run(way, kAgent), "\1none " + processor() + "\n");
  EXPECT_FALSE(fs::exists(cache()));
  way.may_put = true;
  run(way, kAgent);
  way.may_put = false;
  EXPECT_EQ(run(way, "data"), "put --agent\n");
  way.agent_options = {"--bridge=::1,7000"};
  EXPECT_EQ(run(way, "data"), "put --agent --bridge=::1,7000\n");
}

TEST_F(WayInTest, EveryShellOfAUserTakesIt) {
  const WayIn way{
      .same_path = {}, .agents = {make_agent(kAgent, processor())}, .may_put = true, .agent_options = {}};
  for (const char* shell : {"dash", "bash", "fish", "tcsh", "csh", "bsd-csh", "zsh", "ksh"}) {
    if (run_shell(std::string("command -v ") + shell).wait_status != 0) continue;
    fs::remove_all(home());
    EXPECT_EQ(run(way, kAgent, shell), "\1put " + processor() + " " + cache() + "\nput --agent\n") << shell;
  }
}

TEST_F(WayInTest, WhatArrivesDamagedOrShortGetsNoName) {
  const WayIn way{
      .same_path = {}, .agents = {make_agent(kAgent, processor())}, .may_put = true, .agent_options = {}};
  std::string damaged = kAgent;
  damaged[20] ^= 1;
  for (const std::string& sent : {damaged, kAgent.substr(0, 10), std::string()}) {
    const std::string said = run(way, sent);
    EXPECT_NE(said.find("is not the agent that was sent"), said.npos) << said;
    EXPECT_EQ(said.find("--agent"), said.npos) << said;
    EXPECT_FALSE(fs::exists(cache()));
  }
}

TEST_F(WayInTest, AnotherProcessorsAgentIsNotTaken) {
  const WayIn way{
      .same_path = {}, .agents = {make_agent(kAgent, "pdp11")}, .may_put = true, .agent_options = {}};
  EXPECT_EQ(run(way, kAgent), "\1none " + processor() + "\n");
}

TEST_F(WayInTest, OnlyOursPassesOverWhatIsInstalled) {
  make_program(home() + "/.local/bin/rdcp", "home");
  const WayIn way{.search = Search::only_ours,
                  .same_path = {},
                  .agents = {make_agent(kAgent, processor())},
                  .may_put = true,
                  .agent_options = {}};
  EXPECT_EQ(run(way, kAgent), "\1put " + processor() + " " + cache() + "\nput --agent\n");
}

TEST_F(WayInTest, TheThreeNewestAreKeptAndAllThatIsNotAnAgent) {
  for (const char* other : {"precious", "a-p8-b", "0.1.0-p8-old/within"}) {
    fs::create_directories(cache() + "/" + other);
    std::ofstream(cache() + "/" + other + "/data") << "mine";
  }
  fs::create_directory_symlink("precious", cache() + "/0.1.0-p8-link");
  ::chmod(cache().c_str(), 0755);
  std::vector<std::string> put;
  for (int i = 0; i < 5; ++i) {
    const std::string agent = kAgent + "# " + std::to_string(i) + "\n";
    const WayIn way{
        .same_path = {}, .agents = {make_agent(agent, processor())}, .may_put = true, .agent_options = {}};
    EXPECT_EQ(run(way, agent), "\1put " + processor() + " " + cache() + "\nput --agent\n") << i;
    put.push_back(way.agents.front().sha256);
  }
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(cache())) {
    if (fs::exists(entry.path() / "rdcp"))
      left.push_back(entry.path().string().substr(entry.path().string().size() - 64));
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre(put[2], put[3], put[4]));
  for (const char* other : {"precious", "a-p8-b", "0.1.0-p8-old/within", "0.1.0-p8-link"})
    EXPECT_TRUE(fs::exists(cache() + "/" + other + "/data")) << other;
}

TEST_F(WayInTest, AgentsAreFoundBesideTheProgramAndInLibexec) {
  const std::string prefix = scratch_ / "prefix";
  make_agent(kAgent, "here");
  EXPECT_EQ(agent_files_of(scratch_ / "rdcp").size(), 1u);
  fs::create_directories(prefix + "/bin");
  fs::create_directories(prefix + "/libexec/rdcp");
  for (const char* suffix : {"", ".sha256"})
    fs::copy((scratch_ / "rdcp-agent-here") + suffix, prefix + "/libexec/rdcp");
  const auto files = agent_files_of(prefix + "/bin/rdcp");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files.front().processor, "here");
  EXPECT_TRUE(open_agent(files.front()).ok());
  std::ofstream(files.front().path, std::ios::app) << "more";
  EXPECT_FALSE(open_agent(files.front()).ok());
  std::ofstream(files.front().path + ".sha256") << "nonsense\n";
  EXPECT_TRUE(agent_files_of(prefix + "/bin/rdcp").empty());
}

TEST_F(WayInTest, APackedAgentIsUnpacked) {
  const AgentFile plain = make_agent(kAgent + std::string(100'000, '#'), "here");
  ASSERT_EQ(run_shell("zstd -q --rm " + shell_quote(plain.path) + " 2>&1").output, "");
  const auto files = agent_files_of(scratch_ / "rdcp");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files.front().packed);
  EXPECT_EQ(files.front().bytes, plain.bytes);
  EXPECT_EQ(files.front().processor, "here");
  auto opened = open_agent(files.front());
  ASSERT_TRUE(opened);
  std::string content(plain.bytes + 1, ' ');
  EXPECT_EQ(::read(opened->get(), content.data(), content.size()), static_cast<ssize_t>(plain.bytes));
  EXPECT_TRUE(content.starts_with(kAgent));
}

TEST_F(WayInTest, ADamagedPackedAgentIsAnError) {
  const AgentFile plain = make_agent(kAgent + std::string(100'000, '#'), "here");
  ASSERT_EQ(run_shell("zstd -q --rm " + shell_quote(plain.path) + " 2>&1").output, "");
  const std::string packed = tree::content_of(plain.path + ".zst");
  AgentFile file = agent_files_of(scratch_ / "rdcp").at(0);
  tree::write_file(file.path, packed.substr(0, packed.size() - 5));
  EXPECT_THAT(open_agent(file).error().message(), ::testing::HasSubstr("damaged"));
  tree::write_file(file.path, packed);
  file.sha256.assign(64, '0');
  EXPECT_THAT(open_agent(file).error().message(), ::testing::HasSubstr(".sha256"));
  tree::write_file(file.path, "nonsense");
  EXPECT_TRUE(agent_files_of(scratch_ / "rdcp").empty());
}

TEST(AgentAsk, IsReadAndAnythingElseIsNot) {
  const auto put = read_agent_ask("\1put x86_64 /home/a b/.cache/rdcp");
  ASSERT_TRUE(put);
  EXPECT_EQ(put->kind, AgentAsk::Kind::put);
  EXPECT_EQ(put->processor, "x86_64");
  EXPECT_EQ(put->place, "/home/a b/.cache/rdcp");
  EXPECT_EQ(read_agent_ask("\1none mips")->processor, "mips");
  EXPECT_EQ(read_agent_ask("\1nowhere")->kind, AgentAsk::Kind::nowhere);
  for (const char* line : {"", "\1", "\1put", "\1put x86_64", "put x86_64 /x", "\1nowhere ", "\1give all"})
    EXPECT_FALSE(read_agent_ask(line)) << line;
}

}  // namespace
}  // namespace rdcp::cli
