// rdsend: sends a stream to rdrecv on another host. See rdsend(1).

#include <utility>

#include "cli/pipes/send.h"
#include "cli/programs.h"
#include "cli/text/process.h"

int rdcp::cli::rdsend_main(int argc, char** argv) {
  rdcp::cli::set_up_process();
  rdcp::cli::ParsedPipe parsed = rdcp::cli::parse_send_options(argc, argv);
  rdcp::cli::wipe_key(argc, argv, parsed.options.key.word);
  if (parsed.exit_status) {
    return rdcp::cli::print_and_end("rdsend", parsed.text_out, parsed.text_err, *parsed.exit_status);
  }
  return rdcp::cli::run_send(std::move(parsed.options));
}
