// Tests of the target's tree use these: a directory of their own, a mount, another user.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "io/fd.h"

namespace rdcp::tree {

inline constexpr uid_t kNobody = 65534;

// Removed at the end with all that is in it. The umask is 0 from here on, as in rdcp itself.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    ::umask(0);
    path_ = testing::TempDir() + "rdcp-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
    fd_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // Before a ScopedUser is to write into it, or into a directory in it.
  void give_to_scoped_user(const std::string& name = ".") {
    if (::geteuid() == 0 && ::fchownat(fd_.get(), name.c_str(), kNobody, kNobody, 0) != 0) {
      ADD_FAILURE() << "chown " << path_ << "/" << name;
    }
  }

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  io::Fd fd_;
};

// A filesystem mounted for the length of a test; only root has it.
class ScopedMount {
 public:
  ScopedMount(const std::string& path, const char* type, unsigned long flags, const char* options)
      : path_(path), mounted_(::mount("rdcp-test", path.c_str(), type, flags, options) == 0) {}
  ScopedMount(const ScopedMount&) = delete;
  ScopedMount& operator=(const ScopedMount&) = delete;
  ~ScopedMount() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  explicit operator bool() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

// While it lives the process acts as a user without privileges, whoever started it.
class ScopedUser {
 public:
  ScopedUser() : group_(::getegid()), user_(::geteuid()) {
    if (user_ == 0 && (::setegid(kNobody) != 0 || ::seteuid(kNobody) != 0)) ADD_FAILURE() << "seteuid";
  }
  ScopedUser(const ScopedUser&) = delete;
  ScopedUser& operator=(const ScopedUser&) = delete;
  ~ScopedUser() {
    if (user_ == 0 && (::seteuid(user_) != 0 || ::setegid(group_) != 0)) ADD_FAILURE() << "seteuid";
  }

 private:
  gid_t group_;
  uid_t user_;
};

inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Looks up the name itself; a symlink is not followed.
inline struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) ADD_FAILURE() << "lstat " << path;
  return status;
}

}  // namespace rdcp::tree
