// The words HOST:CMD of rdpipe's command line, and what they come to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/location.h"
#include "io/result.h"
#include "tree/segment_job.h"

namespace rdcp::cli {

// What runs on one host.
struct PipeSegment {
  std::optional<Location> host;  // none: this one
  tree::SegmentKind kind = tree::SegmentKind::command;
  std::string text;  // the command, or the file's name as the shell takes it

  // "HOST" or "this host".
  std::string host_name() const;
  // As the user wrote it, without the host.
  std::string what() const;
};

// Segments first to last (inclusive) run at the same time, each one's output being the next one's input.
struct PipeStage {
  std::size_t first = 0;
  std::size_t last = 0;
  bool takes_input = false;   // of rdpipe itself, into the first one
  bool gives_output = false;  // of the last one, to rdpipe's own
};

// HOST:CMD, USER@HOST:CMD, [IPV6]:CMD, :CMD or, where nothing before a colon can be a host, CMD. CMD may
// begin with an operator: "< FILE", "> FILE", ">> FILE". Errors (usage): CMD or FILE is missing, a bad host.
io::Result<PipeSegment> parse_segment(std::string_view word);

// One after the other: a file that is written ends a stage, one that is read begins one.
std::vector<PipeStage> stages_of(const std::vector<PipeSegment>& segments, bool have_input);

}  // namespace rdcp::cli
