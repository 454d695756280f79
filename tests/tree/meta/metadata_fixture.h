// A scratch directory and what is applied to inodes in it, for the tests of metadata.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/fd.h"
#include "tests/tree/meta/own_path.h"
#include "tree/meta/acl.h"
#include "tree/meta/metadata.h"

namespace rdcp::tree {

inline constexpr std::uint32_t kUnknownId = 3'999'999'001;
inline constexpr std::uint32_t kOrdinaryId = 12'345;

inline std::vector<AclLine> some_acl() {
  return {{AclLine::Tag::user_obj, 6, 0, ""},
          {AclLine::Tag::user, 7, kOrdinaryId, ""},
          {AclLine::Tag::group_obj, 1, 0, ""},
          {AclLine::Tag::mask, 5, 0, ""},
          {AclLine::Tag::other, 0, 0, ""}};
}

// A scratch directory, with files, descriptors and what became of them.
class Metadata : public testing::Test {
 protected:
  Metadata() {
    std::string name = testing::TempDir() + "rdcp-metadata-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    entry_.path = own("entry");
    entry_.mode = 0640;
    entry_.uid = ::geteuid();
    entry_.gid = ::getegid();
    entry_.mtime = {1'600'000'000, 123'456'789};
  }
  ~Metadata() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  io::Fd make_file(mode_t mode = 0600, const std::string& name = "file") const {
    io::Fd file(::open(path(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    EXPECT_TRUE(file);
    EXPECT_EQ(::fchmod(file.get(), mode), 0);
    return file;
  }
  io::Fd make_directory(const std::string& name = "directory") const {
    EXPECT_EQ(::mkdir(path(name).c_str(), 0700), 0);
    return io::Fd(::open(path(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  io::Fd hold(const std::string& name) const {
    return io::Fd(::open(path(name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  // Whether the scratch directory's filesystem takes such attributes; tests that need them skip otherwise.
  bool has_xattrs(int fd, const char* name = "user.probe") const {
    return ::fsetxattr(fd, name, "", 0, 0) == 0 && ::fremovexattr(fd, name) == 0;
  }
  bool has_acls(int fd) const {
    const std::string raw = format_acl(some_acl());
    const mode_t mode = status(fd).st_mode & 07777;  // an access list changes it
    return ::fsetxattr(fd, kAccessAclXattr, raw.data(), raw.size(), 0) == 0 &&
           ::fremovexattr(fd, kAccessAclXattr) == 0 && ::fchmod(fd, mode) == 0;
  }
  static struct stat status(int fd) {
    struct stat status {};
    EXPECT_EQ(::fstat(fd, &status), 0);
    return status;
  }
  static std::string xattr(int fd, const char* name) {
    std::string value(1000, '\0');
    const ssize_t length = ::fgetxattr(fd, name, value.data(), value.size());
    return length < 0 ? "(none)" : value.substr(0, static_cast<std::size_t>(length));
  }
  void apply(int fd, std::uint32_t created_mode = ~0u) {
    const auto applied = apply_metadata(fd, entry_, created_mode, {policy_, names_, losses_}, "the file");
    EXPECT_TRUE(applied.ok()) << applied.error().message();
  }
  void apply_path_fd(int fd) {
    const auto applied = apply_metadata_path_fd(fd, entry_, {policy_, names_, losses_}, "the file");
    EXPECT_TRUE(applied.ok()) << applied.error().message();
  }
  void read(int fd, bool is_path_fd = false) {
    const auto read = read_xattrs(fd, is_path_fd, policy_, names_, entry_);
    EXPECT_TRUE(read.ok()) << read.error().message();
  }
  std::vector<LossKind> lost() const {
    std::vector<LossKind> kinds;
    for (const Losses::Item& item : losses_.items()) kinds.push_back(item.kind);
    return kinds;
  }
  // Runs steps as an ordinary user in a process of its own; its failures are the test's.
  void as_ordinary_user(const std::function<void()>& steps) {
    ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool dropped = ::setgroups(0, nullptr) == 0 &&
                           ::setresgid(kOrdinaryId, kOrdinaryId, kOrdinaryId) == 0 &&
                           ::setresuid(kOrdinaryId, kOrdinaryId, kOrdinaryId) == 0;
      if (dropped) steps();
      ::_exit(dropped && !HasFailure() ? 0 : 1);
    }
    int result = -1;
    ASSERT_EQ(::waitpid(child, &result, 0), child);
    EXPECT_EQ(result, 0);
  }

  std::string directory_;
  Entry entry_;
  MetadataPolicy policy_;
  NameTable names_;
  Losses losses_;
};

class MetadataAsRoot : public Metadata {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may change owners";
  }
};

}  // namespace rdcp::tree
