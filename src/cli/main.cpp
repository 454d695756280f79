// Starts the program by whose name this file was started: rdcp, or a link to it that is named rdsend, rdrecv
// or rdpipe.

#include <string_view>

#include "cli/agents/agent_run.h"
#include "cli/programs.h"

int main(int argc, char** argv) {
  using namespace rdcp::cli;
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (name == "rdsend") return rdsend_main(argc, argv);
  if (name == "rdrecv") return rdrecv_main(argc, argv);
  if (name == "rdpipe" || (argc > 2 && argv[2] == std::string_view(kOfRdpipe)))
    return rdpipe_main(argc, argv);
  return rdcp_main(argc, argv);
}
