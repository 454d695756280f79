#include "tests/tree/copy/traced_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstring>
#include <filesystem>
#include <map>
#include <regex>

namespace rdcp::tree {
namespace {

constexpr int kCannotTrace = 77;

// What each argument is: a descriptor (f), a directory's descriptor (d) with the path beneath it next (p), a
// path alone (P), or nothing of ours (-).
struct Form {
  const char* name;
  const char* arguments;
};

const std::map<long, Form>& forms() {
  static const std::map<long, Form> all = {
      {SYS_openat, {"openat", "dp"}},
      {SYS_openat2, {"openat2", "dp"}},
      {SYS_mkdirat, {"mkdirat", "dp"}},
      {SYS_mknodat, {"mknodat", "dp"}},
      {SYS_unlinkat, {"unlinkat", "dp"}},
      {SYS_symlinkat, {"symlinkat", "-dp"}},
      {SYS_linkat, {"linkat", "dpdp"}},
      {SYS_renameat2, {"renameat", "dpdp"}},
#ifdef SYS_renameat
      {SYS_renameat, {"renameat", "dpdp"}},
#endif
      {SYS_readlinkat, {"readlinkat", "dp"}},
      {SYS_newfstatat, {"fstatat", "dp"}},
      {SYS_statx, {"statx", "dp"}},
      {SYS_fstat, {"fstat", "f"}},
      {SYS_fstatfs, {"fstatfs", "f"}},
      {SYS_statfs, {"statfs", "P"}},
      {SYS_utimensat, {"utimensat", "dp"}},
      {SYS_fchmod, {"fchmod", "f"}},
      {SYS_fchmodat, {"fchmodat", "dp"}},
      {SYS_fchown, {"fchown", "f"}},
      {SYS_fchownat, {"fchownat", "dp"}},
      {SYS_fsetxattr, {"fsetxattr", "f"}},
      {SYS_fgetxattr, {"fgetxattr", "f"}},
      {SYS_flistxattr, {"flistxattr", "f"}},
      {SYS_fremovexattr, {"fremovexattr", "f"}},
      {SYS_setxattr, {"setxattr", "P"}},
      {SYS_getxattr, {"getxattr", "P"}},
      {SYS_listxattr, {"listxattr", "P"}},
      {SYS_lgetxattr, {"lgetxattr", "P"}},
      {SYS_llistxattr, {"llistxattr", "P"}},
      {SYS_getdents64, {"getdents64", "f"}},
      {SYS_lseek, {"lseek", "f"}},
      {SYS_read, {"read", "f"}},
      {SYS_write, {"write", "f"}},
      {SYS_pread64, {"pread", "f"}},
      {SYS_pwrite64, {"pwrite", "f"}},
      {SYS_copy_file_range, {"copy_file_range", "f-f"}},
      {SYS_ioctl, {"ioctl", "f"}},
      {SYS_fcntl, {"fcntl", "f"}},
      {SYS_flock, {"flock", "f"}},
      {SYS_ftruncate, {"ftruncate", "f"}},
      {SYS_fallocate, {"fallocate", "f"}},
      {SYS_fadvise64, {"fadvise64", "f"}},
      {SYS_sync_file_range, {"sync_file_range", "f"}},
      {SYS_mmap, {"mmap", "----f"}},
      {SYS_fsync, {"fsync", "f"}},
      {SYS_fdatasync, {"fdatasync", "f"}},
      {SYS_syncfs, {"syncfs", "f"}},
      {SYS_dup, {"dup", "f"}},
      {SYS_close, {"close", "f"}},
  };
  return all;
}

std::string of_descriptor(pid_t thread, std::uint64_t fd) {
  if (static_cast<int>(fd) == AT_FDCWD) return {};
  std::error_code error;
  const auto link = "/proc/" + std::to_string(thread) + "/fd/" + std::to_string(static_cast<int>(fd));
  return std::filesystem::read_symlink(link, error);
}

// Reads the string at an address of another process.
std::string string_at(pid_t thread, std::uint64_t address) {
  std::string text;
  while (address != 0 && text.size() < PATH_MAX) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, thread, address + text.size(), nullptr);
    if (errno != 0) break;
    std::array<char, sizeof word> bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
    const auto* end = static_cast<const char*>(std::memchr(bytes.data(), '\0', bytes.size()));
    text.append(bytes.data(), end == nullptr ? bytes.size() : static_cast<std::size_t>(end - bytes.data()));
    if (end != nullptr) break;
  }
  return text;
}

std::string without_chance(const std::string& path) {
  static const std::regex unnamed("#[0-9]+ \\(deleted\\)"), own("rdcp-[0-9A-Za-z]+");
  return std::regex_replace(std::regex_replace(path, unnamed, "#"), own, "rdcp-*");
}

// One process that is traced with all its threads, from its first call to its end.
class Tracer {
 public:
  Tracer(std::string directory, pid_t process) : directory_(std::move(directory)), process_(process) {}

  // Returns the exit status.
  int run();
  std::vector<TracedCall> take() { return std::move(calls_); }

 private:
  void note(pid_t thread);
  void add_path(TracedCall& call, const std::string& path) const;
  TracedCall call_of(pid_t thread, const __ptrace_syscall_info& info) const;

  const std::string directory_;
  const pid_t process_;
  std::map<pid_t, TracedCall> begun_;  // one for each thread that has been seen
  std::vector<TracedCall> calls_;
};

void Tracer::add_path(TracedCall& call, const std::string& path) const {
  if (path.starts_with(directory_ + "/")) {
    call.paths.push_back(path.substr(directory_.size() + 1));
  }
}

TracedCall Tracer::call_of(pid_t thread, const __ptrace_syscall_info& info) const {
  TracedCall call;
  const auto form = forms().find(static_cast<long>(info.entry.nr));
  if (form == forms().end()) return call;
  call.name = form->second.name;
  std::string above;
  for (std::size_t i = 0; form->second.arguments[i] != '\0'; ++i) {
    const char kind = form->second.arguments[i];
    const std::uint64_t value = info.entry.args[i];
    if (kind == 'f') add_path(call, of_descriptor(thread, value));
    if (kind == 'P') add_path(call, string_at(thread, value));
    if (kind == 'd') above = of_descriptor(thread, value);
    if (kind == 'p') {
      const std::string name = string_at(thread, value);
      std::error_code error;
      // The way to a file without a name.
      const bool is_link = name.starts_with("/proc/self/fd/");
      if (is_link) add_path(call, of_descriptor(thread, std::stoul(name.substr(14))));
      const bool is_itself = name.empty() || name == ".";
      if (!is_link) add_path(call, name.starts_with("/") ? name : is_itself ? above : above + "/" + name);
      if (name.empty() && call.name == "fstatat") call.name = "fstat";  // as some C libraries call it
    }
  }
  return call;
}

void Tracer::note(pid_t thread) {
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) begun_[thread] = call_of(thread, info);
  if (info.op != PTRACE_SYSCALL_INFO_EXIT || begun_[thread].paths.empty()) return;
  begun_[thread].code = info.exit.is_error ? static_cast<int>(-info.exit.rval) : 0;
  calls_.push_back(std::move(begun_[thread]));
  begun_[thread] = {};
}

int Tracer::run() {
  constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
  for (;;) {
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL);
    if (thread < 0) return -1;
    if (!WIFSTOPPED(status)) {
      if (thread == process_) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    const bool is_new = begun_.try_emplace(thread).second;
    int signal = WSTOPSIG(status);
    if (thread == process_ && is_new) {
      ::ptrace(PTRACE_SETOPTIONS, thread, nullptr,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    }
    if (signal == kSyscallStop) note(thread);
    // Stops of the tracer's own are not for the process: of calls, of clone(2), and each thread's first.
    if (signal == kSyscallStop || signal == SIGTRAP || (is_new && signal == SIGSTOP)) signal = 0;
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
  }
}

}  // namespace

std::string TracedCall::text() const {
  std::string text = name;
  for (const std::string& path : paths) text += " " + without_chance(path);
  if (code != 0) text += std::string(" ") + ::strerrorname_np(code);
  return text;
}

std::optional<std::vector<TracedCall>> trace_calls(const std::string& directory,
                                                   const std::function<void()>& action) {
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kCannotTrace);
    ::raise(SIGSTOP);
    action();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  if (process < 0) return std::nullopt;
  Tracer tracer(directory, process);
  const int status = tracer.run();
  if (status == kCannotTrace) return std::nullopt;
  EXPECT_EQ(status, 0) << "of the process that was traced";
  return tracer.take();
}

}  // namespace rdcp::tree
