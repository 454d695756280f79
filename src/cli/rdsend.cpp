// rdsend: sends a stream to rdrecv on another host. See rdsend(1).

#include <cstdio>

#include "cli/process.h"
#include "cli/send.h"

int main(int argc, char** argv) {
  const rdcp::cli::ParsedPipe parsed = rdcp::cli::parse_send_options(argc, argv);
  rdcp::cli::wipe_key(argc, argv, parsed.options.key.word);
  std::fputs(parsed.text_out.c_str(), stdout);
  rdcp::cli::write_to_stderr(parsed.text_err);
  if (parsed.exit_status) return *parsed.exit_status;
  return rdcp::cli::run_send(parsed.options);
}
