#include "cli/launch/agent_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cli/shell.h"

namespace rdcp::cli {
namespace {

using Words = std::vector<std::string>;

const Location kHost{Location::Kind::remote, "me", "::1", "x"};

// The command without the fixed options that keep ssh_config's login settings away.
Words without_fixed_options(Words command) {
  const auto fixed = [](const std::string& word) {
    return word == "-x" || word == "-oClearAllForwardings=yes" || word == "-oRemoteCommand=none" ||
           word == "-oRequestTTY=no" || word == "-oPermitLocalCommand=no";
  };
  EXPECT_EQ(std::count_if(command.begin(), command.end(), fixed), 5);
  std::erase_if(command, fixed);
  return command;
}

RemoteShell with_path(const std::string& path) {
  RemoteShell shell;
  shell.rdcp_path = path;
  return shell;
}

TEST(AgentCommand, SshGetsOneCommandStringBehindTwoDashes) {
  EXPECT_EQ(without_fixed_options(agent_command(with_path("rdcp"), kHost, {})),
            (Words{"ssh", "--", "me@::1", "rdcp --agent"}));
}

TEST(AgentCommand, TheAgentsOptionsAreHandedOnInEachForm) {
  const WayIn way{.same_path = {}, .agents = {}, .agent_options = {"--no-landlock", "--bridge=::1,7"}};
  EXPECT_EQ(agent_command(with_path("rdcp"), kHost, way).back(), "rdcp --agent --no-landlock --bridge=::1,7");
  RemoteShell shell;
  shell.rsh = {"kubectl-exec"};
  EXPECT_EQ(agent_command(shell, kHost, way),
            (Words{"kubectl-exec", "me@::1", "rdcp", "--agent", "--no-landlock", "--bridge=::1,7"}));
}

TEST(AgentCommand, WithoutAPathSshGetsTheWayIn) {
  const WayIn way{.same_path = "/here/rdcp", .agents = {}, .agent_options = {}};
  EXPECT_EQ(without_fixed_options(agent_command(RemoteShell{}, kHost, way)),
            (Words{"ssh", "--", "me@::1", way_in(way)}));
}

TEST(AgentCommand, SshOptionsAreHandedOn) {
  RemoteShell shell = with_path("rdcp");
  shell.ssh_port = 2222;
  shell.identity_files = {"k1", "k 2"};
  shell.ssh_config = "conf";
  shell.ssh_options = {"A=1", "B=2"};
  EXPECT_EQ(without_fixed_options(agent_command(shell, kHost, {})),
            (Words{"ssh", "-p", "2222", "-i", "k1", "-i", "k 2", "-F", "conf", "-o", "A=1", "-o", "B=2", "--",
                   "me@::1", "rdcp --agent"}));
}

TEST(AgentCommand, FixedOptionsComeFirstSinceSshTakesTheFirst) {
  RemoteShell shell;
  shell.rsh = {"/usr/bin/ssh", "-oRequestTTY=force"};
  const Words command = agent_command(shell, kHost, {});
  EXPECT_EQ(command.front(), "/usr/bin/ssh");
  EXPECT_LT(std::find(command.begin(), command.end(), "-oRequestTTY=no"),
            std::find(command.begin(), command.end(), "-oRequestTTY=force"));
}

// Asks the real ssh how it reads the words; -G prints the configuration and connects nowhere.
TEST(AgentCommand, RealSshUnderstandsIt) {
  if (run_shell("command -v ssh").wait_status != 0) GTEST_SKIP() << "no ssh here";
  RemoteShell shell = with_path("rdcp");
  shell.ssh_port = 2222;
  shell.ssh_options = {"ConnectTimeout=7"};
  shell.rsh = {"ssh", "-G", "-F", "none"};
  std::string line;
  for (const std::string& word : agent_command(shell, kHost, {})) line += "'" + word + "' ";
  const auto result = run_shell(line + "2>&1");
  EXPECT_EQ(result.wait_status, 0) << result.output;
  for (const char* setting : {"\nhostname ::1\n", "user me\n", "\nport 2222\n", "\nrequesttty false\n",
                              "\nclearallforwardings yes\n", "\nconnecttimeout 7\n"}) {
    EXPECT_NE(result.output.find(setting), std::string::npos) << setting << result.output;
  }
}

TEST(AgentCommand, AnotherCommandGetsHostAndWords) {
  RemoteShell shell;
  shell.rsh = {"kubectl-exec", "-n", "jobs"};
  EXPECT_EQ(agent_command(shell, kHost, {}),
            (Words{"kubectl-exec", "-n", "jobs", "me@::1", "rdcp", "--agent"}));
}

TEST(AgentCommand, RdcpPathIsQuotedForTheRemoteShell) {
  RemoteShell shell;
  shell.rdcp_path = "/opt/my tools/rd'cp; id";
  const std::string remote = agent_command(shell, kHost, {}).back();
  EXPECT_EQ(run_shell("printf '<%s>' " + remote).output, "</opt/my tools/rd'cp; id><--agent>");
}

// Some have been said by another host's agent.
TEST(AgentCommand, NoOptionOfAnAgentsIsMoreThanOneWord) {
  const std::string odd = "--bridge=127.0.0.1;touch pwned;$(id) '*\n--no-landlock,1";
  const WayIn way{.same_path = {}, .agents = {}, .agent_options = {odd, "", "--bridge=fe80::1%eth0,7"}};
  const auto read_by_a_shell = [&](const RemoteShell& shell) {
    const Words command = agent_command(shell, kHost, way);
    const auto first =
        std::ranges::find_if(command, [](const std::string& word) { return word.starts_with("rdcp"); });
    std::string line;
    for (auto word = first; word != command.end(); ++word) line += " " + *word;
    return run_shell("printf '<%s>'" + line).output;
  };
  const std::string words = "<rdcp><--agent><" + odd + "><><--bridge=fe80::1%eth0,7>";
  EXPECT_EQ(read_by_a_shell(with_path("rdcp")), words);
  RemoteShell other;
  other.rsh = {"kubectl-exec"};
  EXPECT_EQ(read_by_a_shell(other), words);
  EXPECT_EQ(agent_command(other, kHost, way).back(), "--bridge=fe80::1%eth0,7");
}

TEST(AgentCommand, TildeInRdcpPathIsLeftToTheRemoteShell) {
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  if (home.empty()) GTEST_SKIP() << "HOME is not set";
  const auto expanded = [](std::string_view path) {
    return run_shell("printf %s " + quote_rdcp_path(path)).output;
  };
  EXPECT_EQ(expanded("~/bin/rdcp"), home + "/bin/rdcp");
  EXPECT_EQ(expanded("~/my bin/$rdcp"), home + "/my bin/$rdcp");
  EXPECT_EQ(expanded("~root/rdcp"), run_shell("printf %s ~root/rdcp").output);
}

TEST(AgentCommand, OnlyATildePrefixEscapesQuoting) {
  const auto expanded = [](std::string_view path) {
    return run_shell("printf %s " + quote_rdcp_path(path)).output;
  };
  for (const char* path : {"a~/b", "~", "~$(id)/x", "~a b/x", "~;id/x", "$HOME/~/x", "~\n/x"}) {
    EXPECT_EQ(expanded(path), path);
  }
}

TEST(AgentCommand, ThePortOfALocationGoesBeforeThatOfTheOption) {
  RemoteShell shell;
  shell.ssh_port = 2222;
  const auto location = parse_location("scp://host:2200/x");
  ASSERT_TRUE(location);
  const std::string command = testing::PrintToString(configuration_command(shell, *location));
  EXPECT_NE(command.find("\"-p\", \"2200\""), std::string::npos) << command;
  EXPECT_EQ(command.find("2222"), std::string::npos) << command;
}

}  // namespace
}  // namespace rdcp::cli
