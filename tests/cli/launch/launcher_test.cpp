#include "cli/launch/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch/agent_command.h"
#include "cli/launch/launch.h"
#include "cli/launch/shell_quote.h"
#include "tests/cli/shell.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

RemoteShell launched(const std::string& text) {
  RemoteShell shell;
  const auto set = set_launcher(text, shell);
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return shell;
}

const Location kNode{Location::Kind::remote, "", "n1", "x"};

// Sets a variable, or unsets it, until the end of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = ::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value != nullptr)
      ::setenv(name_, value, 1);
    else
      ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(Launcher, ItsNameSaysHowItIsCalled) {
  EXPECT_EQ(launched("srun").launcher, Launcher::srun);
  EXPECT_EQ(launched("/opt/slurm/bin/srun --jobid=7").launcher, Launcher::srun);
  EXPECT_EQ(launched("kubectl -n 'a b'").rsh, (Words{"kubectl", "-n", "a b"}));
  EXPECT_EQ(launched("kubectl").launcher, Launcher::kubectl);
  EXPECT_TRUE(runs_ssh(launched("ssh -4")));
  RemoteShell shell;
  for (const char* text : {"docker", "srun2", "/srun/", "''"})
    EXPECT_FALSE(set_launcher(text, shell)) << text;
}

TEST(Launcher, TheProgramOfRshIsNone) {
  RemoteShell shell;
  shell.rsh = {"srun"};
  EXPECT_EQ(agent_command(shell, kNode, {}), (Words{"srun", "n1", "rdcp", "--agent"}));
  EXPECT_TRUE(launcher_failure(shell).empty());
  EXPECT_EQ(group_of(shell), Group::ours);
}

TEST(Launcher, TheUsersOptionsCountMoreThanOursAndTheHostComesLast) {
  const Words step = launcher_command(launched("srun --jobid=7 --mpi=pmix"), "n1", "id");
  const auto place = [&](const char* word) { return std::ranges::find(step, word) - step.begin(); };
  EXPECT_LT(place("--mpi=none"), place("--mpi=pmix"));
  EXPECT_LT(place("--mpi=pmix"), place("--nodelist=n1"));
  EXPECT_EQ(place("--nodelist=n1") + 4, static_cast<long>(step.size()));
  const Words command = launcher_command(launched("kubectl -n train -c main"), "pod-1", "id");
  EXPECT_EQ(Words(command.begin(), command.end() - 1),
            (Words{"kubectl", "exec", "-n", "train", "-c", "main", "-i", "pod-1", "--", "/bin/sh", "-c"}));
}

TEST(Launcher, SrunHandsOnWhatHasNoLineEndsYet) {
  EXPECT_THAT(launcher_command(launched("srun"), "n1", "id"), testing::Contains("--unbuffered"));
}

// The last words of a command are what runs there.
std::string run_there(const Words& command, const std::string& before) {
  std::string words;
  for (auto word = command.end() - 3; word != command.end(); ++word) words += " " + shell_quote(*word);
  const auto ran = run_shell(before + words + " 2>&1");
  EXPECT_EQ(ran.wait_status, 0) << ran.output;
  return ran.output;
}

TEST(Launcher, TheLineBeginsAtHomeWithoutThisHostsAddress) {
  const tree::ScratchDirectory scratch;
  const Words command = launcher_command(launched("kubectl"), "pod", "pwd; echo \"$SSH_CONNECTION.\" 'a  b'");
  EXPECT_EQ(run_there(command, "HOME=" + scratch.path() + " SSH_CONNECTION='1 2 3 4' "),
            std::filesystem::canonical(scratch.path()).string() + "\n. a  b\n");
  EXPECT_EQ(run_there(command, "HOME=/nowhere "), "/\n. a  b\n");
}

TEST(Launcher, AShellReadsTheWayInAndAPath) {
  RemoteShell shell = launched("srun");
  EXPECT_TRUE(looks_around(shell));
  const WayIn way{.same_path = "/here/rdcp", .agents = {}, .agent_options = {"--no-landlock"}};
  EXPECT_TRUE(agent_command(shell, kNode, way).back().ends_with(way_in(way)));
  shell.rdcp_path = "/opt/my tools/rdcp";
  EXPECT_FALSE(looks_around(shell));
  EXPECT_TRUE(
      agent_command(shell, kNode, way).back().ends_with("exec '/opt/my tools/rdcp' --agent --no-landlock"));
}

TEST(Launcher, IsAProgramInAJob) {
  const tree::ScratchDirectory scratch;
  const std::string program = scratch / "srun";
  tree::write_file(program, "#!/bin/sh\n");
  const Variable path("PATH", (":/nowhere:" + scratch.path()).c_str());
  const Variable job("SLURM_JOB_ID", nullptr);
  const Variable older("SLURM_JOBID", nullptr);
  const auto refusal = [](const std::string& text) {
    const auto checked = check_launcher(launched(text));
    EXPECT_TRUE(checked || checked.error().kind == io::ErrorKind::usage);
    return checked ? "" : checked.error().message();
  };
  EXPECT_THAT(refusal("srun"), HasSubstr("--launcher srun: there is no srun in PATH; install it"));
  EXPECT_THAT(refusal(program), HasSubstr(program + " is not a program"));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_THAT(refusal("srun"), HasSubstr("SLURM_JOB_ID is not set"));
  EXPECT_EQ(refusal("srun --jobid 7"), "");
  EXPECT_EQ(refusal(program + " --jobid=7"), "");
  EXPECT_THAT(refusal("kubectl"), HasSubstr("no kubectl in PATH"));
  EXPECT_EQ(refusal("ssh"), "");
  const Variable in_job("SLURM_JOB_ID", "7");
  EXPECT_EQ(refusal("srun"), "");
}

TEST(Launcher, SrunIsOutOfReachOfTheTerminalsSignals) {
  EXPECT_EQ(group_of(launched("srun")), Group::own);
  EXPECT_EQ(group_of(launched("kubectl")), Group::ours);
  auto process = launch_agent({"sh", "-c", "read line"}, -1, Group::own);
  ASSERT_TRUE(process);
  EXPECT_EQ(::getpgid(process->pid), process->pid);
  EXPECT_NE(::getpgid(process->pid), ::getpgrp());
  end_agent(process->pid);
}

TEST(Launcher, NobodyElseAndNoPortIsReached) {
  Location location = kNode;
  EXPECT_TRUE(check_reachable(launched("srun"), location));
  location.user = "me";
  EXPECT_TRUE(check_reachable(launched("ssh"), location));
  EXPECT_FALSE(check_reachable(launched("srun"), location));
  EXPECT_FALSE(check_reachable(launched("kubectl"), location));
  location.user.clear();
  location.port = 22;
  EXPECT_TRUE(check_reachable(launched("ssh"), location));
  EXPECT_FALSE(check_reachable(launched("kubectl"), location));
}

}  // namespace
}  // namespace rdcp::cli
