// rdrecv: receives a stream from rdsend. See rdrecv(1).

#include <utility>

#include "cli/pipes/receive.h"
#include "cli/programs.h"
#include "cli/text/process.h"

int rdcp::cli::rdrecv_main(int argc, char** argv) {
  rdcp::cli::set_up_process();
  rdcp::cli::ParsedPipe parsed = rdcp::cli::parse_receive_options(argc, argv);
  rdcp::cli::wipe_key(argc, argv, parsed.options.key.word);
  if (parsed.exit_status) {
    return rdcp::cli::print_and_end("rdrecv", parsed.text_out, parsed.text_err, *parsed.exit_status);
  }
  return rdcp::cli::run_receive(std::move(parsed.options));
}
