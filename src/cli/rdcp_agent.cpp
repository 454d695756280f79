// rdcp-agent: what rdcp puts on a host that has no rdcp. It is static, so that it runs on any Linux with this
// processor, and does nothing but `rdcp --agent`.

#include <string_view>

#include "cli/serve/serve.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/version.h"

int main(int argc, char** argv) {
  using namespace rdcp::cli;
  set_up_process();
  const auto is = [&](int which, std::string_view word) { return which < argc && argv[which] == word; };
  if (argc == 2 && is(1, "--agent")) return serve_coordinator(true);
  if (argc == 3 && is(1, "--agent") && is(2, "--no-landlock")) return serve_coordinator(false);
  if (argc == 2 && is(1, "--digest")) return print_and_end("rdcp-agent", sum_line_of(argv[0]), "", kExitOk);
  if (argc == 2 && is(1, "--version"))
    return print_and_end("rdcp-agent", std::string("rdcp-agent ") + kVersion + "\n", "", kExitOk);
  return print_and_end("rdcp-agent", "", "rdcp-agent: rdcp starts it: see rdcp(1)\n", kExitUsage);
}
