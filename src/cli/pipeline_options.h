// The command line of rdpipe as a plain struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/pipeline.h"

namespace rdcp::cli {

struct PipelineOptions {
  Options copy;  // what rdpipe has in common with rdcp
  std::vector<PipeSegment> segments;
  bool agent = false;      // be a segment on this host: all else is told over stdin
  bool dry_run = false;    // say what would run where
  std::uint16_t port = 0;  // the first hop's listener, the next ones follow; 0: any
  std::string hostname;    // by which the others reach this host; empty: they are reached from here
};

struct ParsedPipeline : ParseOutcome {
  PipelineOptions options;
};

// argv as main() gets it. Nothing is printed here.
ParsedPipeline parse_pipeline_options(int argc, const char* const* argv);

}  // namespace rdcp::cli
