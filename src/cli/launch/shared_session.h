// A session of ssh whose connection to the host further sessions share (ssh_config(5), ControlMaster).
#pragma once

#include <optional>
#include <string>

#include "cli/options/remote_shell.h"
#include "cli/places/location.h"

namespace rdcp::cli {

// Further sessions that share a connection begin at once, and ask for no password, passphrase or touch of a
// token again. ssh makes the socket at which it waits for them, for its own user only, and removes it.
class SharedSession {
 public:
  // Chooses a name for the socket. Returns nothing where ssh's configuration for this host names one itself
  // (ControlPath), which then does the same for all sessions, and where ssh cannot tell (ssh -G came with
  // OpenSSH 6.8) within a second.
  static std::optional<SharedSession> prepare(const RemoteShell& shell, const Location& location);

  // Returns what starts the session that is shared.
  RemoteShell first(RemoteShell shell) const;
  // Returns what starts a session that shares it. If it has ended or its host allows no further ones
  // (sshd_config(5), MaxSessions), ssh makes a connection of its own.
  RemoteShell further(RemoteShell shell) const;
  // Removes the socket where ssh could not, because it was killed. To be called when the first session has
  // ended.
  void clean_up() const;

 private:
  explicit SharedSession(std::string socket) : socket_(std::move(socket)) {}

  std::string socket_;  // its path
};

}  // namespace rdcp::cli
