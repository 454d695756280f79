// rdrecv: receives a stream from rdsend. See rdrecv(1).

#include <cstdio>

#include "cli/process.h"
#include "cli/receive.h"

int main(int argc, char** argv) {
  const rdcp::cli::ParsedPipe parsed = rdcp::cli::parse_receive_options(argc, argv);
  rdcp::cli::wipe_key(argc, argv, parsed.options.key.word);
  std::fputs(parsed.text_out.c_str(), stdout);
  rdcp::cli::write_to_stderr(parsed.text_err);
  if (parsed.exit_status) return *parsed.exit_status;
  return rdcp::cli::run_receive(parsed.options);
}
