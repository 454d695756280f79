// Where a process waits for somebody who has lost the connection to it: an abstract Unix socket (unix(7)),
// which is in no directory and goes away with the process.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::net {

class RejoinSocket {
 public:
  // Makes a socket of a name that nobody can guess, and listens. It does not block.
  static io::Result<RejoinSocket> open();

  const std::string& name() const { return name_; }
  // The descriptor that poll(2) must watch before accept() is called.
  int fd() const { return socket_.get(); }
  // Returns the connection of one who has come, or an empty descriptor if nobody has. Processes of other
  // users than this one's are sent away (SO_PEERCRED), whatever name they know.
  io::Fd accept() const;

 private:
  RejoinSocket(std::string name, io::Fd socket) : name_(std::move(name)), socket_(std::move(socket)) {}

  std::string name_;
  io::Fd socket_;
};

// True if such a socket may have this name: "rdcp-" and 32 hexadecimal digits.
bool is_rejoin_socket(std::string_view name);

// Connects to the socket of this name on this host. The connection blocks. Error (connection): there is none,
// so the process that waited there has ended.
io::Result<io::Fd> connect_to_rejoin_socket(const std::string& name);

}  // namespace rdcp::net
