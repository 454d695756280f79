// A directory for the files that a target makes: on tmpfs, for this process alone, and removed at its end.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/fd.h"
#include "io/write_all.h"
#include "tests/fuzz/fuzz.h"

namespace rdcp::fuzz {

class Scratch {
 public:
  Scratch() {
    ::umask(0);  // as in rdcp itself
    const char* chosen = std::getenv("TMPDIR");
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    path_ = std::string(chosen != nullptr ? chosen : has_memory ? "/dev/shm" : "/tmp") + "/rdcp-fuzz-XXXXXX";
    require(::mkdtemp(path_.data()) != nullptr);
    fd_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    require(bool(fd_));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file with mode 0600, over one that is there.
  void write(const std::string& name, std::string_view content) const {
    const io::Fd file(::openat(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    require(bool(file) && io::write_all(file.get(), content) == 0);
  }

 private:
  std::string path_;
  io::Fd fd_;
};

// The number that the next descriptor gets. If it is the same before and after a run, none stayed open.
inline int next_descriptor() {
  const io::Fd probe(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return probe.get();
}

}  // namespace rdcp::fuzz
