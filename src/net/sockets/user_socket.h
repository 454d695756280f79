// Connections within a host, between processes of one user: abstract Unix sockets (unix(7)), which are in no
// directory and go away with their process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::net {

class UserSocket {
 public:
  // Makes a socket of a name that nobody can guess, and listens. It does not block.
  static io::Result<UserSocket> open();
  // Does the same with the name that belongs to this TCP port, for those who would otherwise connect to the
  // port: a byte costs half as much here as over loopback. Error: another process has the name.
  static io::Result<UserSocket> open_beside(std::uint16_t port);

  const std::string& name() const { return name_; }
  // The descriptor that poll(2) must watch before accept() is called.
  int fd() const { return socket_.get(); }
  // Returns the connection of one who has come, or an empty descriptor if nobody has. Processes of other
  // users than this one's are sent away (SO_PEERCRED), whatever name they know. flags: as of accept4(2), to
  // which SOCK_CLOEXEC is added.
  io::Fd accept(int flags = 0) const;
  // How many have come so far that are not known to be another user's.
  std::size_t came() const { return came_; }

 private:
  static io::Result<UserSocket> listen_at(std::string name);
  UserSocket(std::string name, io::Fd socket) : name_(std::move(name)), socket_(std::move(socket)) {}

  std::string name_;
  io::Fd socket_;
  mutable std::size_t came_ = 0;
};

// True if a socket that open() made may have this name.
bool is_user_socket(std::string_view name);

// Connects to the socket of this name on this host. The connection blocks. Errors (connection): there is
// none, so the process that waited there has ended; it is another user's.
io::Result<io::Fd> connect_to_user_socket(const std::string& name);
// Does the same with the socket beside this port.
io::Result<io::Fd> connect_beside(std::uint16_t port);

}  // namespace rdcp::net
