#include "cli/launch/launch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong{20};

AgentProcess launch(const std::vector<std::string>& command) {
  auto process = launch_agent(command);
  EXPECT_TRUE(process.ok()) << process.error().message();
  return process.ok() ? std::move(process).value() : AgentProcess{};
}

AgentProcess launch_script(const std::string& script) {
  return launch({"sh", "-c", script});
}

std::string read_all(const io::Fd& from) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(from.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

std::string output_of(const std::string& script) {
  AgentProcess process = launch_script(script);
  std::string text = read_all(process.from);
  EXPECT_EQ(wait_agent(process.pid, kLong), 0);
  return text;
}

// Puts a signal's disposition back at the end of a test.
class Disposition {
 public:
  Disposition(int number, sighandler_t handler) : number_(number), before_(::signal(number, handler)) {}
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;
  ~Disposition() { ::signal(number_, before_); }

 private:
  int number_;
  sighandler_t before_;
};

// A line "SigIgn:\t0000000000000002" of proc(5)'s status.
bool holds_signal(const std::string& status, const std::string& field, int number) {
  const std::size_t at = status.find(field + ":\t");
  EXPECT_NE(at, std::string::npos) << status;
  if (at == std::string::npos) return false;
  const auto bits = std::strtoull(status.c_str() + at + field.size() + 2, nullptr, 16);
  return (bits >> (number - 1) & 1) != 0;
}

TEST(Launch, TalksOverStandardInputAndOutput) {
  AgentProcess process = launch({"cat"});
  ASSERT_EQ(::write(process.to.get(), "hello", 5), 5);
  process.to.reset();
  EXPECT_EQ(read_all(process.from), "hello");
  EXPECT_EQ(wait_agent(process.pid, kLong), 0);
}

TEST(Launch, WordsArriveAsTheyAre) {
  AgentProcess process = launch({"printf", "<%s>", "a b", "", "$x'\n"});
  EXPECT_EQ(read_all(process.from), "<a b><><$x'\n>");
  EXPECT_EQ(wait_agent(process.pid, kLong), 0);
}

TEST(Launch, MissingProgramIsAnErrorHereAndLeavesNoZombie) {
  const auto process = launch_agent({"/nowhere/ssh", "host"});
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().kind, io::ErrorKind::unreachable);
  EXPECT_EQ(process.error().code, ENOENT);
  EXPECT_EQ(process.error().subject, "/nowhere/ssh");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Launch, ChildIgnoresInterruptsOnly) {
  const Disposition broken_pipe(SIGPIPE, SIG_IGN);
  const Disposition handled(SIGUSR1, [](int) {});
  const std::string status = output_of("exec cat /proc/self/status");
  EXPECT_TRUE(holds_signal(status, "SigIgn", SIGINT));
  EXPECT_FALSE(holds_signal(status, "SigIgn", SIGPIPE));
  EXPECT_FALSE(holds_signal(status, "SigIgn", SIGTERM));
  EXPECT_FALSE(holds_signal(status, "SigIgn", SIGUSR1));
}

TEST(Launch, ChildIgnoresHangupsUnderNohup) {
  const Disposition hangup(SIGHUP, SIG_IGN);
  EXPECT_TRUE(holds_signal(output_of("exec cat /proc/self/status"), "SigIgn", SIGHUP));
}

TEST(Launch, ChildBlocksNoSignalAndOurMaskStays) {
  sigset_t term;
  sigset_t before;
  sigset_t after;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
  const std::string status = output_of("exec cat /proc/self/status");
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_FALSE(holds_signal(status, "SigBlk", SIGTERM));
  EXPECT_EQ(sigismember(&after, SIGTERM), 1);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 0);
}

TEST(Launch, ChildStaysInOurProcessGroup) {
  EXPECT_EQ(std::stoi(output_of("exec cut -d' ' -f5 /proc/self/stat")), ::getpgrp());
}

TEST(Launch, SecondAgentDoesNotHoldTheFirstOnesPipes) {
  AgentProcess first = launch({"cat"});
  AgentProcess second = launch({"cat"});
  first.to.reset();
  EXPECT_EQ(wait_agent(first.pid, kLong), 0);
  second.to.reset();
  EXPECT_EQ(wait_agent(second.pid, kLong), 0);
}

TEST(Launch, WorksWhenStandardDescriptorsAreClosed) {
  const auto talk = [] {
    for (int fd = 0; fd < 2; ++fd) ::close(fd);
    auto process = launch_agent({"cat"});
    if (!process || ::write(process->to.get(), "hello", 5) != 5) ::_exit(1);
    process->to.reset();
    ::_exit(read_all(process->from) == "hello" && wait_agent(process->pid, kLong) == 0 ? 0 : 2);
  };
  EXPECT_EXIT(talk(), ::testing::ExitedWithCode(0), "");
}

TEST(Launch, StatusIsKeptWhereOurParentIgnoredSigchld) {
  const Disposition child(SIGCHLD, SIG_IGN);
  AgentProcess process = launch_script("exit 7");
  EXPECT_EQ(wait_agent(process.pid, kLong), 7);
}

TEST(WaitAgent, TellsStatusSignalAndStillRunning) {
  EXPECT_EQ(wait_agent(launch_script("exit 3").pid, kLong), 3);
  EXPECT_EQ(wait_agent(launch_script("kill -KILL $$").pid, kLong), 128 + SIGKILL);
  AgentProcess running = launch({"cat"});
  EXPECT_EQ(wait_agent(running.pid, milliseconds(5)), std::nullopt);
  running.to.reset();
  EXPECT_EQ(wait_agent(running.pid, kLong), 0);
}

TEST(EndAgent, AsksFirst) {
  AgentProcess process = launch_script("trap 'exit 9' TERM; echo ready; read line");
  char c = 0;
  ASSERT_EQ(::read(process.from.get(), &c, 1), 1);
  EXPECT_EQ(end_agent(process.pid, kLong), 9);
}

TEST(EndAgent, KillsWhatDoesNotListen) {
  AgentProcess process = launch_script("trap '' TERM; echo ready; exec sleep 100");
  char c = 0;
  ASSERT_EQ(::read(process.from.get(), &c, 1), 1);
  EXPECT_EQ(end_agent(process.pid, milliseconds(20)), 128 + SIGKILL);
}

TEST(EndAgent, TakesTheStatusOfOneThatHasEnded) {
  AgentProcess process = launch_script("exit 4");
  read_all(process.from);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(end_agent(process.pid), 4);
}

class ExplainLaunchFailure : public ::testing::Test {
 protected:
  void expect(std::optional<int> status, std::string_view noise, std::string_view words) const {
    const io::Error error = explain_launch_failure(shell_, host_, status, noise);
    EXPECT_EQ(error.kind, io::ErrorKind::unreachable);
    EXPECT_NE(error.message().find("hostb"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message() << "\nlacks: " << words;
    EXPECT_EQ(error.message().find_first_of("\n\x1b"), std::string::npos) << error.message();
  }
  RemoteShell shell_;
  Location host_{Location::Kind::remote, "", "hostb", "x"};
};

TEST_F(ExplainLaunchFailure, AbsentRdcpSaysHowToGetIt) {
  shell_.rdcp_path = "r";
  expect(127, "",
         "'r' was not found there; install it, or correct --rdcp-path, or rdcp-path in the settings");
  expect(127, "Welcome!\n", "'r' was not found there; install it, or correct --rdcp-path");
  expect(126, "", "cannot be executed");
}

TEST_F(ExplainLaunchFailure, SshItselfHasSpoken) {
  expect(255, "", "ssh could not connect");
}

TEST_F(ExplainLaunchFailure, AnotherCommands255IsNoSshStatus) {
  shell_.rsh = {"kubectl-exec"};
  expect(255, "", "it ended with status 255");
}

TEST_F(ExplainLaunchFailure, ALaunchersOwnStatusIsToldFromTheCommands) {
  ASSERT_TRUE(set_launcher("srun", shell_));
  expect(1, "", "srun could not start a step there; it has said why on standard error");
  expect(127, "", "rdcp was not found there");
  expect(255, "", "it ended with status 255");
  ASSERT_TRUE(set_launcher("kubectl", shell_));
  expect(1, "", "kubectl could not start a command there");
  expect(137, "", "signal 9");
}

TEST_F(ExplainLaunchFailure, ProfileNoiseIsQuotedAndExplained) {
  expect(std::nullopt, "Welcome to hostb\nmore\n", "\"Welcome to hostb\" came from there");
  expect(std::nullopt, "Welcome to hostb\nmore\n", "must print nothing");
  expect(0, "\r\n\x1b[31mhi\r\n", "hi\"");
  expect(0, "\n\n", "an empty line");
  expect(1, "This account is not available.\n", "it ended with status 1");
}

TEST_F(ExplainLaunchFailure, LongNoiseIsCut) {
  const auto error = explain_launch_failure(shell_, host_, std::nullopt, std::string(5000, 'x'));
  EXPECT_LT(error.message().size(), 300u);
}

TEST_F(ExplainLaunchFailure, OtherEndsAreTold) {
  expect(2, "", "too old");
  expect(0, "", "without an answer");
  expect(143, "", "signal 15");
  expect(9, "", "status 9");
  expect(233, "", "status 233");
  expect(std::nullopt, "", "does not answer");
}

}  // namespace
}  // namespace rdcp::cli
