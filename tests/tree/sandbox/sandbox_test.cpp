#include "tree/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>

#include "io/retry.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::tree {
namespace {

using testing::HasSubstr;

// Runs work() in a process of its own, since a sandbox is never left. Returns its value.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  (void)io::retry_eintr([&] { return ::waitpid(child, &status, 0); });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 0, or the errno of a call that has failed.
int errno_of(int returned) {
  return returned < 0 ? errno : 0;
}
int opened(const std::string& path, int flags) {
  return errno_of(io::Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600)).get());
}

// `root` is what an agent may write beneath, `beside` what it may not; both have a file, a directory, a
// symlink.
class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_support().abi == 0) GTEST_SKIP() << landlock_support().none_because;
    make_places();
  }
  void make_places() {
    for (const char* name : {"root", "beside"}) {
      std::filesystem::remove_all(scratch_ / name);
      std::filesystem::create_directory(scratch_ / name);
      std::filesystem::create_directory(place(name) + "/directory");
      write_file(place(name) + "/file", "content");
      std::filesystem::create_symlink("file", place(name) + "/symlink");
    }
    root_.reset(::open(place("root").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  std::string place(const std::string& name) { return scratch_ / name; }
  std::string root(const std::string& name) { return place("root") + "/" + name; }
  std::string beside(const std::string& name) { return place("beside") + "/" + name; }

  SandboxTerms to_root() { return {.writes = {{root_.get(), place("root")}}, .links_directories = true}; }
  // The errno of `work` within a sandbox.
  int within(const SandboxTerms& terms, const std::function<int()>& work) {
    return in_child([&] {
      Sandbox sandbox(true);
      const bool confined = sandbox.enter(terms).ok() && sandbox.keep_connections_to({}).ok();
      return confined && sandbox.entered() ? work() : 255;
    });
  }
  int within_root(const std::function<int()>& work) { return within(to_root(), work); }
  void needs_abi(int abi) {
    if (landlock_support().abi < abi) GTEST_SKIP() << "needs Landlock ABI " << abi;
  }

  ScratchDirectory scratch_;
  io::Fd root_;
};

// Every call that makes, changes the content of, renames or removes a name; `at` says where.
using Call = std::function<int(const std::string& at)>;
std::vector<std::pair<const char*, Call>> changes() {
  return {
      {"write", [](const std::string& at) { return opened(at + "/file", O_WRONLY); }},
      {"append", [](const std::string& at) { return opened(at + "/file", O_WRONLY | O_APPEND); }},
      {"make a file", [](const std::string& at) { return opened(at + "/new", O_WRONLY | O_CREAT | O_EXCL); }},
      {"make a file without a name", [](const std::string& at) { return opened(at, O_WRONLY | O_TMPFILE); }},
      {"make a directory",
       [](const std::string& at) { return errno_of(::mkdir((at + "/d").c_str(), 0700)); }},
      {"make a FIFO", [](const std::string& at) { return errno_of(::mkfifo((at + "/fifo").c_str(), 0600)); }},
      {"make a socket",
       [](const std::string& at) { return errno_of(::mknod((at + "/socket").c_str(), S_IFSOCK | 0600, 0)); }},
      {"make a symlink", [](const std::string& at) { return errno_of(::symlink("x", (at + "/s").c_str())); }},
      {"link",
       [](const std::string& at) { return errno_of(::link((at + "/file").c_str(), (at + "/l").c_str())); }},
      {"rename",
       [](const std::string& at) { return errno_of(::rename((at + "/file").c_str(), (at + "/r").c_str())); }},
      {"move to another directory",
       [](const std::string& at) {
         return errno_of(::rename((at + "/file").c_str(), (at + "/directory/r").c_str()));
       }},
      {"remove a file", [](const std::string& at) { return errno_of(::unlink((at + "/file").c_str())); }},
      {"remove a symlink",
       [](const std::string& at) { return errno_of(::unlink((at + "/symlink").c_str())); }},
      {"remove a directory",
       [](const std::string& at) { return errno_of(::rmdir((at + "/directory").c_str())); }},
  };
}

TEST_F(SandboxTest, AllIsAllowedBeneathTheRoot) {
  needs_abi(2);
  for (const auto& [name, call] : changes()) {
    make_places();
    EXPECT_EQ(within_root([&] { return call(place("root")); }), 0) << name;
  }
}

TEST_F(SandboxTest, NothingIsChangedElsewhere) {
  for (const auto& [name, call] : changes()) {
    EXPECT_THAT(within_root([&] { return call(place("beside")); }), testing::AnyOf(EACCES, EXDEV)) << name;
  }
  EXPECT_THAT(names_in(place("beside")), testing::ElementsAre("directory", "file", "symlink"));
  EXPECT_EQ(content_of(beside("file")), "content");
}

TEST_F(SandboxTest, WithoutPlacesNothingIsChangedAnywhere) {
  for (const auto& [name, call] : changes()) {
    EXPECT_THAT(within({}, [&] { return call(place("root")); }), testing::AnyOf(EACCES, EXDEV)) << name;
  }
}

TEST_F(SandboxTest, WhereFilesMayBeRemovedNothingElseChanges) {
  for (const auto& [name, call] : changes()) {
    make_places();
    const SandboxTerms terms{.removes = {{root_.get(), place("root")}}};
    const bool removes = name == std::string("remove a file") || name == std::string("remove a symlink");
    const int error = within(terms, [&] { return call(place("root")); });
    EXPECT_EQ(error == 0, removes) << name << " " << error;
    EXPECT_NE(within(terms, [&] { return call(place("beside")); }), 0) << name;
  }
}

TEST_F(SandboxTest, NothingMovesOutOrIn) {
  const auto outcome = [&](auto call, const std::string& from, const std::string& to) {
    return within_root([&] { return errno_of(call(from.c_str(), to.c_str())); });
  };
  for (const auto call : {::rename, ::link}) {
    EXPECT_THAT(outcome(call, root("file"), beside("out")), testing::AnyOf(EACCES, EXDEV));
    EXPECT_THAT(outcome(call, beside("file"), root("in")), testing::AnyOf(EACCES, EXDEV));
  }
}

TEST_F(SandboxTest, TruncatingIsWriting) {
  needs_abi(3);
  EXPECT_EQ(within_root([&] { return errno_of(::truncate(beside("file").c_str(), 0)); }), EACCES);
  EXPECT_EQ(within_root([&] { return errno_of(::truncate(root("file").c_str(), 0)); }), 0);
}

// Of a file that is opened for reading, too: Linux truncates it then, so a filter of system calls would not
// do.
TEST_F(SandboxTest, WhoWritesNothingTruncatesNothing) {
  needs_abi(3);
  const std::vector<Call> ways = {
      [](const std::string& at) { return errno_of(::truncate((at + "/file").c_str(), 0)); },
      [](const std::string& at) {
        int code = 0;
        std::thread([&] { code = errno_of(::truncate((at + "/file").c_str(), 0)); }).join();
        return code;
      },
      [](const std::string& at) { return opened(at + "/file", O_RDONLY | O_TRUNC); },
      [](const std::string& at) { return opened(at + "/file", O_WRONLY | O_TRUNC); },
  };
  const std::vector<SandboxTerms> writes_nothing = {{}, {.removes = {{root_.get(), place("root")}}}};
  for (const SandboxTerms& terms : writes_nothing) {
    for (const Call& call : ways) EXPECT_EQ(within(terms, [&] { return call(place("root")); }), EACCES);
  }
  EXPECT_EQ(content_of(root("file")), "content");
}

TEST_F(SandboxTest, ASymlinkLeadsToNoOtherPlace) {
  std::filesystem::create_symlink(beside("file"), root("out"));
  EXPECT_EQ(within_root([&] { return opened(root("out"), O_WRONLY); }), EACCES);
  EXPECT_EQ(within_root([&] { return opened(root("out"), O_RDONLY); }), 0);
}

TEST_F(SandboxTest, NothingIsExecuted) {
  EXPECT_EQ(within_root([] {
              ::execl("/bin/true", "true", nullptr);
              return errno;
            }),
            EACCES);
  std::filesystem::copy_file("/bin/true", root("true"));
  ::chmod(root("true").c_str(), 0755);
  EXPECT_EQ(within_root([&] {
              ::execl(root("true").c_str(), "true", nullptr);
              return errno;
            }),
            EACCES);
  EXPECT_EQ(within_root([] { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); }), 1);
}

TEST_F(SandboxTest, DescriptorsThatAreOpenStay) {
  const io::Fd before(::open(beside("file").c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(within_root([&] { return errno_of(static_cast<int>(::write(before.get(), "C", 1))); }), 0);
}

TEST_F(SandboxTest, OfAFileOnlyTheContentIsWritten) {
  const io::Fd file(::open(root("file").c_str(), O_PATH | O_CLOEXEC));
  const SandboxTerms terms{.writes = {{file.get(), "file"}}};
  EXPECT_EQ(within(terms, [&] { return opened(root("file"), O_WRONLY); }), 0);
  EXPECT_EQ(within(terms, [&] { return errno_of(::unlink(root("file").c_str())); }), EACCES);
  EXPECT_EQ(within(terms, [&] { return opened(root("new"), O_WRONLY | O_CREAT); }), EACCES);
}

TEST_F(SandboxTest, HoldsForThreadsThatStartLater) {
  EXPECT_EQ(within_root([&] {
              int code = 0;
              std::thread([&] { code = opened(beside("file"), O_WRONLY); }).join();
              return code;
            }),
            EACCES);
}

TEST_F(SandboxTest, AnAgentInAThreadConfinesNobodyElse) {
  EXPECT_EQ(in_child([&] {
              bool entered = false;
              std::thread([&] { entered = Sandbox(true).enter(to_root()).ok(); }).join();
              return entered ? opened(beside("file"), O_WRONLY) : 255;
            }),
            0);
}

// A socket that listens on some port of 127.0.0.1.
struct Listener {
  io::Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  Listener() {
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(socket.get(), 5), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  }
  int connected() const {
    const io::Fd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return errno_of(::connect(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }
  std::uint16_t port() const { return ntohs(address.sin_port); }
};

TEST_F(SandboxTest, ConnectsOnlyToThePortsOfItsJob) {
  needs_abi(4);
  const Listener allowed;
  const Listener other;
  const auto outcome = [&](const std::function<int()>& work) {
    return in_child([&] {
      Sandbox sandbox(true);
      const bool confined =
          sandbox.enter({.connects = true}).ok() && sandbox.keep_connections_to({allowed.port()}).ok();
      return confined ? work() : 255;
    });
  };
  EXPECT_EQ(outcome([&] { return allowed.connected(); }), 0);
  EXPECT_EQ(outcome([&] { return other.connected(); }), EACCES);
  EXPECT_EQ(outcome([&] {
              const io::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
              const sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
              return errno_of(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any));
            }),
            EACCES);
  EXPECT_EQ(outcome([&] {  // a socket that listens already goes on
              const pid_t peer = ::fork();
              if (peer == 0) ::_exit(allowed.connected());
              return errno_of(io::Fd(::accept(allowed.socket.get(), nullptr, nullptr)).get());
            }),
            0);
}

TEST_F(SandboxTest, SignalsReachNobodyOutside) {
  needs_abi(6);
  const pid_t test = ::getpid();
  EXPECT_EQ(within_root([&] { return errno_of(::kill(test, 0)); }), EPERM);
  EXPECT_EQ(within_root([&] { return errno_of(::kill(::getpid(), 0)); }), 0);
  SandboxTerms terms = to_root();
  terms.signals_others = true;
  EXPECT_EQ(within(terms, [&] { return errno_of(::kill(test, 0)); }), 0);
}

// The memory of a process holds its keys. The traced one is a child, since some kernels let nobody else be
// traced (yama).
TEST_F(SandboxTest, NobodyOutsideIsTraced) {
  const auto traced = [&](bool confined) {
    return in_child([&] {
      int ends[2];  // the traced process lives as long as the write end is open
      if (::pipe(ends) != 0) return 255;
      const pid_t outside = ::fork();
      if (outside == 0) {
        char byte = 0;
        ::close(ends[1]);
        ::_exit(static_cast<int>(::read(ends[0], &byte, 1)));
      }
      Sandbox sandbox(true);
      if (confined && !sandbox.enter(to_root()).ok()) return 255;
      return errno_of(static_cast<int>(::ptrace(PTRACE_SEIZE, outside, nullptr, nullptr)));
    });
  };
  EXPECT_EQ(traced(false), 0);
  EXPECT_EQ(traced(true), EPERM);
}

TEST_F(SandboxTest, AbstractSocketsOfOthersAreOutOfReach) {
  needs_abi(6);
  const io::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rdcp-test-%d", ::getpid());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  const auto connect = [&] {
    const io::Fd other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return errno_of(::connect(other.get(), reinterpret_cast<const sockaddr*>(&address), size));
  };
  EXPECT_EQ(in_child(connect), 0);
  EXPECT_EQ(within_root(connect), EPERM);
}

TEST_F(SandboxTest, OnlyTheFirstEntryCounts) {
  EXPECT_EQ(in_child([&] {
              Sandbox sandbox(true);
              if (!sandbox.enter({}).ok() || !sandbox.enter(to_root()).ok()) return 255;
              return opened(root("file"), O_WRONLY);
            }),
            EACCES);
}

// Seventeen are more than the kernel allows: an agent that cannot be confined must not go on.
TEST_F(SandboxTest, WhatCannotBeConfinedIsAnError) {
  EXPECT_EQ(in_child([&] {
              for (int i = 0; i < 16; ++i) {
                if (!Sandbox(true).enter({}).ok()) return 255;
              }
              Sandbox sandbox(true);
              const auto entered = sandbox.enter({});
              const bool advises =
                  !entered && entered.error().message().find("--no-landlock") != std::string::npos;
              return advises && !sandbox.entered() ? 0 : 1;
            }),
            0);
}

TEST_F(SandboxTest, OnlyAPlaceIsHeldForAStream) {
  EXPECT_EQ(place_of_stream(root("file")).value().name, place("root"));
  EXPECT_EQ(place_of_stream(root("new")).value().name, place("root"));
  EXPECT_EQ(place_of_stream("/dev/null").value().name, "/dev/null");
  const std::string fifo = root("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(place_of_stream(fifo).value().name, fifo);
  EXPECT_FALSE(place_of_stream(root("none/new")));
}

// A name that led to a device or FIFO when the job was looked at may lead to more by now.
TEST_F(SandboxTest, NoFileAndNoDirectoryIsHeldAsADevice) {
  EXPECT_TRUE(hold_in_place("/dev/null"));
  EXPECT_FALSE(hold_in_place(root("file")));
  EXPECT_FALSE(hold_in_place(root("")));
  EXPECT_FALSE(hold_in_place(root("none")));
  EXPECT_NE(place_of_stream(root("")).value().name, root("")) << "all beneath the directory could be written";
}

TEST(Sandbox, IsNotWantedOrNotThere) {
  Sandbox unwanted(false, {.abi = 7, .none_because = {}});
  EXPECT_TRUE(unwanted.enter({}).ok());
  EXPECT_FALSE(unwanted.entered());
  EXPECT_THAT(unwanted.description("the target"), HasSubstr("--no-landlock"));
  Sandbox none(true, {.abi = 0, .none_because = "an old kernel"});
  EXPECT_TRUE(none.enter({}).ok());
  EXPECT_TRUE(none.keep_connections_to({}).ok());
  EXPECT_FALSE(none.entered());
  EXPECT_THAT(none.description("the target"), HasSubstr("an old kernel"));
}

// The first version refuses links from one directory to another, which a tree needs.
TEST(Sandbox, ATreeIsTakenWithoutOneWhereLinksWouldBeRefused) {
  Sandbox sandbox(true, {.abi = 1, .none_because = {}});
  EXPECT_TRUE(sandbox.enter({.writes = {}, .links_directories = true}).ok());
  EXPECT_FALSE(sandbox.entered());
  EXPECT_THAT(sandbox.description("the target"), HasSubstr("hard links"));
}

// The numbers of linux/landlock.h, by version.
TEST(LandlockRights, GrowWithTheVersion) {
  EXPECT_EQ(LandlockRights::of(0).changes | LandlockRights::of(0).execute, 0u);
  EXPECT_EQ(LandlockRights::of(1).execute, 0x1u);
  EXPECT_EQ(LandlockRights::of(1).changes, 0x1ff2u);
  EXPECT_EQ(LandlockRights::of(1).of_content, 0x2u);
  EXPECT_EQ(LandlockRights::of(1).refer, 0u);
  EXPECT_EQ(LandlockRights::of(2).refer, 0x2000u);
  EXPECT_EQ(LandlockRights::of(2).changes, 0x3ff2u);
  EXPECT_EQ(LandlockRights::of(3).changes, 0x7ff2u);
  EXPECT_EQ(LandlockRights::of(3).tcp, 0u);
  EXPECT_EQ(LandlockRights::of(4).tcp, 0x3u);
  EXPECT_EQ(LandlockRights::of(4).connect, 0x2u);
  EXPECT_EQ(LandlockRights::of(5).changes, 0xfff2u);
  EXPECT_EQ(LandlockRights::of(5).of_content, 0xc002u);
  EXPECT_EQ(LandlockRights::of(5).outward, 0u);
  EXPECT_EQ(LandlockRights::of(6).outward, 0x3u);
  EXPECT_EQ(LandlockRights::of(99).changes, LandlockRights::of(6).changes);
}

}  // namespace
}  // namespace rdcp::tree
