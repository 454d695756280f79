#include "cli/launch/shared_session.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
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
  if (!ssh_is_here()) GTEST_SKIP() << "there is no ssh here";
  configure("");
  const auto path_in = [&](const std::string& directory) {
    ::setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    return SharedSession::prepare(shell_, far_)->further(shell_).ssh_options.back();
  };
  EXPECT_TRUE(path_in("/run/user/7").starts_with("ControlPath=/run/user/7/rdcp-"));
  for (const std::string odd : {"relative", "/with space", "/100%", ""})
    EXPECT_TRUE(path_in(odd).starts_with("ControlPath=/tmp/rdcp-")) << odd;
  EXPECT_TRUE(path_in("/" + std::string(60, 'x')).starts_with("ControlPath=/tmp/rdcp-"));
  ::unsetenv("XDG_RUNTIME_DIR");
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
  const std::string path =
      shared->further(shell_).ssh_options.back().substr(std::string("ControlPath=").size());
  std::ofstream(path) << "left";
  shared->clean_up();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace rdcp::cli
