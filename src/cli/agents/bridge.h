// One more session of the user's own ssh that carries one connection for data.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/text/line_pipe.h"
#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

// The word that tells an agent's program to be the far end of a bridge: --bridge=ADDRESS,PORT or
// --bridge=REJOIN-SOCKET.
inline constexpr const char* kBridge = "--bridge";

// The process of such a session. Its standard input and output are one connection here; there `rdcp --agent
// --bridge=...` joins them to a port where an agent listens, or waits
// (net/sockets/user_socket.h). Not thread-safe.
class Bridge {
 public:
  // prefix: is put before each line of its standard error, which is dropped if there is none. Error
  // (unreachable): it cannot be executed here.
  static io::Result<std::unique_ptr<Bridge>> start(const std::vector<std::string>& command,
                                                   const std::optional<std::string>& prefix,
                                                   io::Fd connection);
  // Ends the process at once; see end_bridges().
  ~Bridge();

  // Waits at most this long for the end of the process. Returns its exit status (launch.h), or nothing if it
  // still runs.
  std::optional<int> wait(std::chrono::milliseconds limit = {});

 private:
  Bridge() = default;

  std::unique_ptr<LinePipe> lines_;
  pid_t pid_ = -1;  // until it has been seen to end
  std::optional<int> status_;
};

// Ends these. Those whose connections have ended end by themselves, for which they have a moment together.
void end_bridges(std::vector<std::unique_ptr<Bridge>> bridges);

}  // namespace rdcp::cli
