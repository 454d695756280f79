#include "cli/launch/shared_session.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

class SharedSessionTest : public ::testing::Test {
 protected:
  SharedSessionTest() {
    far_.kind = Location::Kind::remote;
    far_.host = "far";
    shell_.ssh_config = scratch_ / "config";
  }

  void configure(const std::string& text) const { std::ofstream(shell_.ssh_config) << text; }
  // Puts a program in ssh's place.
  void replace_ssh(const std::string& script) {
    const std::string path = scratch_ / "ssh";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    shell_.rsh = {path};
  }

  std::string path_of(const SharedSession& shared) const {
    return shared.further(shell_).ssh_options.back().substr(std::string("ControlPath=").size());
  }
  // Returns the path of the socket where the user's session has this directory.
  std::string path_in(const std::string& directory) const {
    ::setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    const auto shared = SharedSession::prepare(shell_, far_);
    return shared ? path_of(*shared) : "none";
  }
  std::string made(const std::string& name) const {
    std::string path = scratch_ / name;
    EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
    return path;
  }
  void TearDown() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  tree::ScratchDirectory scratch_;
  RemoteShell shell_;
  Location far_;
};

bool ssh_is_here() {
  return std::system("ssh -V 2>/dev/null") == 0;
}

TEST_F(SharedSessionTest, FurtherSessionsNameTheSocketOfTheFirst) {
  if (!ssh_is_here()) GTEST_SKIP() << "there is no ssh here";
  configure("Host far\n  User somebody\n");
  shell_.ssh_options = {"BatchMode=yes"};
  const auto shared = SharedSession::prepare(shell_, far_);
  ASSERT_TRUE(shared);
  const auto first = shared->first(shell_).ssh_options, further = shared->further(shell_).ssh_options;
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first[0], "BatchMode=yes");
  EXPECT_EQ(first[1], "ControlMaster=yes");
  EXPECT_TRUE(first[2].starts_with("ControlPath=/")) << first[2];
  EXPECT_EQ(first[3], "ControlPersist=no");
  EXPECT_EQ(further, (std::vector<std::string>{"BatchMode=yes", "ControlMaster=no", first[2]}));
}

TEST_F(SharedSessionTest, WhatKilledRunsHaveLeftIsRemoved) {
  namespace fs = std::filesystem;
  replace_ssh("echo host far");
  const std::string here = made("here");
  const auto left = [&](const std::string& name, int hours) {
    const std::string path = made("here/" + name);
    if (name.ends_with("used")) std::ofstream(path + "/socket") << "";
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return path;
  };
  const std::string old = left("rdcp-ssh-aaaaaa", 2), used = left("rdcp-ssh-bbused", 2);
  const std::string fresh = left("rdcp-ssh-cccccc", 0), other = left("rdcp-other", 2);
  EXPECT_TRUE(path_in(here).starts_with(here + "/rdcp-ssh-"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(used) && fs::exists(fresh) && fs::exists(other));
}

TEST_F(SharedSessionTest, EachHasASocketOfItsOwn) {
  if (!ssh_is_here()) GTEST_SKIP() << "there is no ssh here";
  configure("");
  const auto one = SharedSession::prepare(shell_, far_), other = SharedSession::prepare(shell_, far_);
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->first(shell_).ssh_options, other->first(shell_).ssh_options);
}

TEST_F(SharedSessionTest, AUsersOwnControlPathStands) {
  if (!ssh_is_here()) GTEST_SKIP() << "there is no ssh here";
  configure("Host far\n  ControlPath ~/.ssh/%C\n");
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
  far_.host = "another";
  EXPECT_TRUE(SharedSession::prepare(shell_, far_));
  shell_.ssh_options = {"ControlPath=/tmp/mine"};
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
  shell_.ssh_options = {};
  shell_.rsh = {"ssh", "-S", "/tmp/mine"};
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
}

TEST_F(SharedSessionTest, ADirectoryOfTheUsersSessionIsUsedIfSshCanNameIt) {
  replace_ssh("echo host far");
  const std::string plain = made("run");
  EXPECT_TRUE(path_in(plain).starts_with(plain + "/rdcp-ssh-"));
  for (const std::string& odd : {made("with space"), made("100%"), made(std::string(80, 'x')), std::string(),
                                 std::string("relative"), plain + "/is-not-there"})
    EXPECT_TRUE(path_in(odd).starts_with("/tmp/rdcp-ssh-")) << odd;
}

TEST_F(SharedSessionTest, ADirectoryThatOthersMayEnterOrLeadElsewhereIsNotUsed) {
  replace_ssh("echo host far");
  const std::string open = made("open");
  for (const mode_t mode : {0701, 0710, 0750, 0720, 0702, 0777}) {
    ASSERT_EQ(::chmod(open.c_str(), mode), 0);
    EXPECT_TRUE(path_in(open).starts_with("/tmp/rdcp-ssh-")) << mode;
  }
  const std::string link = scratch_ / "link", file = scratch_ / "file";
  ASSERT_EQ(::symlink(made("ours").c_str(), link.c_str()), 0);
  EXPECT_TRUE(path_in(link).starts_with("/tmp/rdcp-ssh-"));
  std::ofstream(file) << "no directory";
  ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
  EXPECT_TRUE(path_in(file).starts_with("/tmp/rdcp-ssh-"));
}

TEST_F(SharedSessionTest, ADirectoryOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  replace_ssh("echo host far");
  const std::string other = made("other");
  ASSERT_EQ(::chown(other.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(path_in(other).starts_with("/tmp/rdcp-ssh-"));
}

TEST_F(SharedSessionTest, TheSocketIsInADirectoryThatLetsNobodyElseIn) {
  replace_ssh("echo host far");
  for (const std::string& where : {std::string(), made("run")}) {
    ::setenv("XDG_RUNTIME_DIR", where.c_str(), 1);
    const auto shared = SharedSession::prepare(shell_, far_);
    ASSERT_TRUE(shared);
    const std::string path = path_of(*shared);
    struct stat status {};
    ASSERT_EQ(::lstat(path.substr(0, path.rfind('/')).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode, S_IFDIR | 0700U);
    EXPECT_EQ(status.st_uid, ::geteuid());
    EXPECT_LE(path.size() + 17, sizeof(sockaddr_un{}.sun_path) - 1);  // ssh's first name for it
  }
}

TEST_F(SharedSessionTest, AnSshThatCannotTellIsLeftAlone) {
  replace_ssh("echo controlmaster false; exit 255");
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
  replace_ssh("exec sleep 60");
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
  replace_ssh("exec cat /dev/zero");
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
  shell_.rsh = {"/nowhere/ssh"};
  EXPECT_FALSE(SharedSession::prepare(shell_, far_));
}

TEST_F(SharedSessionTest, CleaningUpRemovesTheSocketThatWasLeft) {
  replace_ssh("echo host far");
  const auto shared = SharedSession::prepare(shell_, far_);
  ASSERT_TRUE(shared);
  const std::string path = path_of(*shared);
  std::ofstream(path) << "left";
  std::ofstream(path + ".Zh3kWb0q1x2y3z4a") << "left when it had its first name";
  shared->clean_up();
  EXPECT_NE(::access(path.substr(0, path.rfind('/')).c_str(), F_OK), 0);
}

TEST_F(SharedSessionTest, WhoForgetsToCleanUpLeavesNothing) {
  replace_ssh("echo host far");
  std::string first, second;
  {
    auto shared = SharedSession::prepare(shell_, far_);
    ASSERT_TRUE(shared);
    first = path_of(*shared);
    shared = SharedSession::prepare(shell_, far_);
    ASSERT_TRUE(shared);
    second = path_of(*shared);
  }
  EXPECT_NE(::access(first.substr(0, first.rfind('/')).c_str(), F_OK), 0);
  EXPECT_NE(::access(second.substr(0, second.rfind('/')).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace rdcp::cli
