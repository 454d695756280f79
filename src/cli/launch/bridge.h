// One more session of the user's own ssh that carries one connection for data.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch/launch.h"
#include "cli/launch/line_pipe.h"
#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

// The word that tells an agent's program to be the far end of a bridge: --bridge=ADDRESS,PORT or
// --bridge=REJOIN-SOCKET.
inline constexpr const char* kBridge = "--bridge";

// Says how a session comes to be: it shares the connection of the one that has started the agent
// (shared_session.h), or logs in for itself, as more than one processor can then encrypt.
enum class Login : unsigned char { shared, own };

// The command of such a session, and what is put before each line of its standard error, which is dropped if
// this is nothing.
struct BridgeCommand {
  std::vector<std::string> words;
  std::optional<std::string> prefix;
  Group group = Group::ours;  // of processes
};

// The process of such a session. Its standard input and output are one connection here; there `rdcp --agent
// --bridge=...` joins them to a port where an agent listens, or waits
// (net/sockets/user_socket.h). Not thread-safe.
class Bridge {
 public:
  // instead: is started on the same connection where ssh lets the first one not in, until settle(). Error
  // (unreachable): the command cannot be executed here.
  static io::Result<std::unique_ptr<Bridge>> start(const BridgeCommand& command,
                                                   std::optional<BridgeCommand> instead, io::Fd connection);
  // Ends the process at once; see end_bridges().
  ~Bridge();

  // Waits at most this long for the end of the process. Returns its exit status (launch.h), or nothing if it
  // still runs.
  std::optional<int> wait(std::chrono::milliseconds limit = {});
  // Says that bytes have come through.
  void settle();

 private:
  Bridge() = default;
  io::Result<void> launch(const BridgeCommand& command, int connection);

  std::optional<BridgeCommand> instead_;
  io::Fd connection_;  // for what is started instead
  std::unique_ptr<LinePipe> lines_;
  pid_t pid_ = -1;  // until it has been seen to end
  std::optional<int> status_;
};

// Ends these. Those whose connections have ended end by themselves, for which they have a moment together.
void end_bridges(std::vector<std::unique_ptr<Bridge>> bridges);

}  // namespace rdcp::cli
