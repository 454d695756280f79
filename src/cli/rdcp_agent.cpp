// rdcp-agent: what rdcp puts on a host that has no rdcp. It is static, so that it runs on any Linux with this
// processor, and does nothing but `rdcp --agent`.

#include <string>
#include <string_view>
#include <vector>

#include "cli/serve/bridge_end.h"
#include "cli/serve/name_services.h"
#include "cli/serve/serve.h"
#include "cli/static_providers.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/version.h"

int main(int argc, char** argv) {
  using namespace rdcp::cli;
  set_up_process();
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto are = [&](std::string_view word) { return words.size() == 1 && words.front() == word; };
  if (are("--digest")) return print_and_end("rdcp-agent", sum_line_of(argv[0]), "", kExitOk);
  if (are("--version")) return print_and_end("rdcp-agent", version_text("rdcp-agent"), "", kExitOk);
  bool agent = false, landlock = true, understood = true;
  std::string bridge;
  constexpr std::string_view kBridgeTo = "--bridge=";
  for (const std::string_view word : words) {
    if (word == "--agent") {
      agent = true;
    } else if (word == "--no-landlock") {
      landlock = false;
    } else if (word.starts_with(kBridgeTo)) {
      bridge = word.substr(kBridgeTo.size());
    } else {
      understood = false;
    }
  }
  use_static_providers();
  if (agent && understood)
    return bridge.empty() ? serve_coordinator(landlock, unasked_name_services())
                          : serve_bridge(bridge, landlock);
  return print_and_end("rdcp-agent", "", "rdcp-agent: rdcp starts it: see rdcp(1)\n", kExitUsage);
}
