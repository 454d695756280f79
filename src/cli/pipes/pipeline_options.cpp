#include "cli/pipes/pipeline_options.h"

#include "cli/agents/agent_run.h"
#include "cli/options/command_line.h"
#include "cli/options/help_text.h"
#include "cli/options/shared_options.h"
#include "cli/text/size.h"

namespace rdcp::cli {
namespace {

using io::Result;
using std::string;

void add_pipeline_options(CommandLine& line, PipelineOptions& options, HelpFlags& asked) {
  line.flag("-h,--help", [&] { asked.help = true; });
  line.flag("-V,--version", [&] { asked.version = true; });
  line.flag("-n,--dryrun,--dry-run", [&] { options.dry_run = true; });
  line.flag("--agent", [&] { options.agent = true; });
  line.flag(kOfRdpipe, [] {});
  line.value("-p,--port",
             [&](const string& word) { return assign(options.port, parse_count("--port", word, 1, 65535)); });
  line.value("-H,--hostname", keep(options.hostname));
}

Result<void> take_segments(const std::vector<string>& words, PipelineOptions& options) {
  if (options.agent) return words.empty() ? Result<void>() : refuse("--agent", "takes no HOST:CMD");
  if (words.empty()) return refuse("command line", "HOST:CMD is missing");
  for (const string& word : words) {
    auto segment = parse_segment(word);
    if (!segment) return segment.error();
    options.segments.push_back(std::move(*segment));
  }
  if (options.port != 0 && options.port + options.segments.size() > 65535) {
    return refuse("--port", "leaves no room for the ports after it");
  }
  return {};
}

Result<void> read_command_line(CommandLine& line, int argc, const char* const* argv,
                               PipelineOptions& options) {
  if (auto parsed = line.parse(argc, argv); !parsed) return parsed;
  if (auto checked = check_tell_options(options.copy); !checked) return checked;
  if (auto checked = check_host_options(options.copy); !checked) return checked;
  if (auto checked = check_way_options(options.copy); !checked) return checked;
  const auto words = line.operands();
  if (!words) return words.error();
  return take_segments(*words, options);
}

}  // namespace

ParsedPipeline parse_pipeline_options(int argc, const char* const* argv) {
  ParsedPipeline parsed;
  PipelineOptions& options = parsed.options;
  options.copy.program = "rdpipe";
  CommandLine line;
  HelpFlags asked;
  add_pipeline_options(line, options, asked);
  add_tell_options(line, options.copy);
  add_host_options(line, options.copy);
  add_way_options(line, options.copy);
  add_encrypt_options(line, options.copy);
  add_compress_option(line, options.copy);
  add_volume_options(line, options.copy);
  add_path_options(line, options.copy);
  parsed.take(asked, read_command_line(line, argc, argv, options), "rdpipe", kPipelineHelpText);
  return parsed;
}

}  // namespace rdcp::cli
