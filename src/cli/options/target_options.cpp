#include "cli/options/target_options.h"

#include "cli/options/shared_options.h"

namespace rdcp::cli {

using io::Result;

void add_target_options(CommandLine& line, Options& options) {
  line.flag("--mkpath", [&] {
    options.make_path = true;
    options.target_option = "--mkpath";
  });
}

Result<void> check_target_options(const Options& options) {
  if (options.target_option.empty()) return {};
  if (options.check || options.doctor || options.clean || options.agent) {
    return refuse(options.target_option, "can be used only with a copy");
  }
  if (options.destination.kind == Location::Kind::standard_stream) {
    return refuse(options.target_option, "DST is '-', a stream");
  }
  return {};
}

}  // namespace rdcp::cli
