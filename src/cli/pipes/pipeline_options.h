// The command line of rdpipe as a plain struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/pipes/pipeline.h"

namespace rdcp::cli {

struct PipelineOptions {
  Options copy;  // what rdpipe has in common with rdcp
  std::vector<PipeSegment> segments;
  bool agent = false;      // run one segment on this host; rdpipe says everything else over stdin
  bool dry_run = false;    // only say what would run where
  std::uint16_t port = 0;  // the first stream's port; further streams use the ports after it; 0: any
  std::string hostname;    // the name by which others reach this host; empty: this host connects to them
};

struct ParsedPipeline : ParseOutcome {
  PipelineOptions options;
};

// Parses argv as main() gets it. Prints nothing.
ParsedPipeline parse_pipeline_options(int argc, const char* const* argv);

}  // namespace rdcp::cli
