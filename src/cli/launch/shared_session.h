// A session of ssh whose connection to the host further sessions share (ssh_config(5), ControlMaster).
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cli/options/remote_shell.h"
#include "cli/places/location.h"

namespace rdcp::cli {

// Further sessions that share a connection begin at once, and ask for no password, passphrase or touch of a
// token again. ssh makes the socket at which it waits for them after it has logged in, but its name is among
// its arguments, which all users see, from the beginning. So it lies in a directory that lets nobody else in:
// who could make a socket of that name would be given the data by our further sessions, which ask not whose
// it is.
class SharedSession {
 public:
  // Makes the directory: in $XDG_RUNTIME_DIR if that is this user's alone, else in /tmp. Returns nothing
  // where ssh's configuration for this host names a socket itself (ControlPath), which then does the same for
  // all sessions, where ssh cannot tell (ssh -G came with OpenSSH 6.8) within a second, and where no
  // directory can be made.
  static std::optional<SharedSession> prepare(const RemoteShell& shell, const Location& location);
  SharedSession(SharedSession&& other) noexcept;
  SharedSession& operator=(SharedSession&& other) noexcept;
  ~SharedSession();

  // Returns what starts the session that is shared.
  RemoteShell first(RemoteShell shell) const;
  // Returns what starts a session that shares it. If it has ended or its host allows no further ones
  // (sshd_config(5), MaxSessions), ssh makes a connection of its own.
  RemoteShell further(RemoteShell shell) const;
  // Removes the directory, and the socket where ssh could not, because it was killed. To be called when the
  // first session has ended; else it is done at last by the destructor.
  void clean_up() const;

 private:
  explicit SharedSession(std::string directory) : directory_(std::move(directory)) {}
  std::string control_path() const;

  std::string directory_;  // with the socket in it
};

}  // namespace rdcp::cli
