#include "cli/launch/shared_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "cli/launch/agent_command.h"
#include "cli/launch/program_answer.h"
#include "io/fd.h"
#include "net/sockets/user_socket.h"

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConfigurationTime{1000};
constexpr std::size_t kConfigurationBytesMax = 64 << 10;
// ssh makes the socket under a longer name first; both must fit into sockaddr_un (unix(7)).
constexpr std::size_t kPathBytesMax = 80;

// Returns the configuration that ssh would have for this host, one setting a line; nothing if it says none.
std::optional<std::string> configuration(const RemoteShell& shell, const Location& location) {
  const io::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  auto answer = answer_of(configuration_command(shell, location), nowhere.get(), kConfigurationTime,
                          kConfigurationBytesMax);
  if (!answer || !*answer || (*answer)->status != 0) return std::nullopt;
  return std::move((*answer)->text);
}

// Returns a directory where this user's programs may make sockets.
std::string sockets_directory() {
  const char* const of_session = std::getenv("XDG_RUNTIME_DIR");
  return of_session != nullptr && *of_session == '/' ? of_session : "/tmp";
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
  const auto name = net::draw_socket_name();
  if (!name) return std::nullopt;
  std::string path = sockets_directory() + "/" + *name;
  // ssh would take % for the begin of a word of its own, and cut the path at a space.
  const bool is_plain = path.find_first_of("% \t\"'\\$") == path.npos;
  if (path.size() > kPathBytesMax || !is_plain) path = "/tmp/" + *name;
  return SharedSession(std::move(path));
}

RemoteShell SharedSession::first(RemoteShell shell) const {
  return with(std::move(shell), {"ControlMaster=yes", "ControlPath=" + socket_, "ControlPersist=no"});
}

RemoteShell SharedSession::further(RemoteShell shell) const {
  return with(std::move(shell), {"ControlMaster=no", "ControlPath=" + socket_});
}

void SharedSession::clean_up() const {
  (void)::unlink(socket_.c_str());  // mostly it is gone
}

}  // namespace rdcp::cli
