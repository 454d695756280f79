#include "cli/launch/shared_session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/launch/agent_command.h"
#include "cli/launch/program_answer.h"
#include "io/fd.h"

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConfigurationTime{1000};
constexpr std::size_t kConfigurationBytesMax = 64 << 10;
constexpr const char* kForAll = "/tmp";
constexpr const char* kName = "/rdcp-ssh-XXXXXX";
constexpr const char* kSocket = "/socket";
// ssh makes the socket under a name that is 17 bytes longer first; both must fit into sockaddr_un (unix(7)).
constexpr std::size_t kPathBytesMax = 80;

// Returns the configuration that ssh would have for this host, one setting a line; nothing if it says none.
std::optional<std::string> configuration(const RemoteShell& shell, const Location& location) {
  const io::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  auto answer = answer_of(configuration_command(shell, location), nowhere.get(), kConfigurationTime,
                          kConfigurationBytesMax);
  if (!answer || !*answer || (*answer)->status != 0) return std::nullopt;
  return std::move((*answer)->text);
}

// True if nobody else can name what is in this directory. One of another user's session comes with sudo -E.
bool is_ours_alone(const std::string& directory) {
  struct stat status {};
  return ::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

// ssh would take % for the begin of a word of its own, and cut the path at a space.
bool can_be_named(const std::string& directory) {
  const std::size_t bytes =
      directory.size() + std::string_view(kName).size() + std::string_view(kSocket).size();
  return bytes <= kPathBytesMax && directory.find_first_of("% \t\"'\\$") == directory.npos;
}

// Returns a directory where this user's programs may make sockets.
std::string sockets_directory() {
  const char* const of_session = std::getenv("XDG_RUNTIME_DIR");
  if (of_session == nullptr || *of_session != '/') return kForAll;
  const std::string directory = of_session;
  return can_be_named(directory) && is_ours_alone(directory) ? directory : kForAll;
}

// Removes the directories that runs left here which were killed. One that has been empty for an hour is no
// other run's: its ssh would have logged in by now, and made the socket. What is not empty stays.
void remove_left(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ended;
  const std::string prefix = std::string(kName + 1, std::string_view(kName).find('X') - 1);
  constexpr std::time_t kHour = 3600;
  const std::time_t old = std::time(nullptr) - kHour;
  for (fs::directory_iterator at(directory, ended), end; at != end && !ended; at.increment(ended)) {
    const fs::path& path = at->path();
    struct stat status {};
    if (!path.filename().string().starts_with(prefix) || ::lstat(path.c_str(), &status) != 0) continue;
    const bool ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
    if (ours && status.st_mtim.tv_sec < old) (void)::rmdir(path.c_str());
  }
}

// Makes a directory that lets nobody else in. Returns its path, or nothing where none can be made.
std::optional<std::string> make_directory() {
  const std::string parent = sockets_directory();
  remove_left(parent);
  std::string path = parent + kName;
  if (::mkdtemp(path.data()) != nullptr) return path;
  path = std::string(kForAll) + kName;
  return ::mkdtemp(path.data()) != nullptr ? std::optional(path) : std::nullopt;
}

RemoteShell with(RemoteShell shell, std::initializer_list<std::string> options) {
  // ssh takes the first value that it is given: what the user says himself comes before.
  shell.ssh_options.insert(shell.ssh_options.end(), options);
  return shell;
}

}  // namespace

std::optional<SharedSession> SharedSession::prepare(const RemoteShell& shell, const Location& location) {
  const auto now = configuration(shell, location);
  if (!now || now->find("\ncontrolpath ") != now->npos) return std::nullopt;
  auto directory = make_directory();
  if (!directory) return std::nullopt;
  return SharedSession(std::move(*directory));
}

SharedSession::SharedSession(SharedSession&& other) noexcept
    : directory_(std::exchange(other.directory_, std::string())) {}

SharedSession& SharedSession::operator=(SharedSession&& other) noexcept {
  std::swap(directory_, other.directory_);
  return *this;
}

SharedSession::~SharedSession() {
  clean_up();
}

std::string SharedSession::control_path() const {
  return std::string("ControlPath=") + directory_ + kSocket;
}

RemoteShell SharedSession::first(RemoteShell shell) const {
  return with(std::move(shell), {"ControlMaster=yes", control_path(), "ControlPersist=no"});
}

RemoteShell SharedSession::further(RemoteShell shell) const {
  return with(std::move(shell), {"ControlMaster=no", control_path()});
}

void SharedSession::clean_up() const {
  std::error_code ignored;  // mostly the directory is empty, or gone already
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace rdcp::cli
