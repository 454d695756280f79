// A place that a copy comes from or goes to, as a word on the command line names it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/result.h"

namespace rdcp::cli {

// PATH, HOST:PATH, USER@HOST:PATH, [IPV6]:PATH, USER@[IPV6]:PATH, scp://[USER@]HOST[:PORT][/PATH] or "-".
struct Location {
  enum class Kind : unsigned char { local, remote, standard_stream };

  Kind kind = Kind::local;
  std::string user;  // empty: ssh decides
  std::string host;  // without brackets
  // Raw bytes. A standard stream has an empty path, or one that names the descriptor of this process that is
  // to become the stream. A remote path is relative to the home directory there unless it begins with a
  // slash; it is never empty and never begins with an unresolved tilde.
  std::string path;
  std::uint16_t port = 0;      // ssh's; 0: ssh decides
  std::string rdcp_path = {};  // rdcp's on this host; empty: RemoteShell has it

  bool operator==(const Location&) const = default;
  // The location as the user would write it, in raw bytes (see io::printable()).
  std::string text() const;
  // "host" or "user@host", as ssh(1) takes it.
  std::string ssh_destination() const;
};

// True if both are reached as the same user of the same host.
bool is_same_host(const Location& a, const Location& b);

// Parses a location. A descriptor of this process (/dev/stdin, /dev/fd/N, which is what a shell makes of
// <(COMMAND), /proc/self/fd/N) is a standard stream: no agent has it. The first colon makes a word remote,
// unless a slash stands before it: "./a:b" and "/a:b" are local, as in scp(1). Errors (usage): nothing before
// the colon, a host or user that ssh or a shell behind it could take for something else (a leading dash,
// control characters, blanks, shell characters), an empty word, another user's home ("host:~bob/x"). The path
// of scp://HOST/PATH and ssh://HOST/PATH begins after that slash and so is relative to the home directory;
// %XX is a byte and '+' a blank, as in scp(1). Other schemes that users of such programs know (rsync://) are
// refused.
io::Result<Location> parse_location(std::string_view word);

inline bool is_remote(const Location& location) {
  return location.kind == Location::Kind::remote;
}

}  // namespace rdcp::cli
