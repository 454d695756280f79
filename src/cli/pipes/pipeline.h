// Parses the words HOST:CMD of rdpipe's command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/places/location.h"
#include "io/result.h"
#include "tree/messages/segment_job.h"

namespace rdcp::cli {

// The command or file that a segment has on one host.
struct PipeSegment {
  std::optional<Location> host;  // none: this host
  tree::SegmentKind kind = tree::SegmentKind::command;
  std::string text;  // the command, or the file's name as the shell takes it

  // "HOST" or "this host".
  std::string host_name() const;
  // The segment as the user wrote it, without the host.
  std::string what() const;
};

// Segments first to last (inclusive) run at the same time; each one's output is the next one's input.
struct PipeStage {
  std::size_t first = 0;
  std::size_t last = 0;
  bool takes_input = false;   // the first segment reads rdpipe's own input
  bool gives_output = false;  // the last segment writes to rdpipe's own output
};

// Parses HOST:CMD, USER@HOST:CMD, [IPV6]:CMD, :CMD or, if nothing before a colon can be a host, CMD. CMD may
// begin with an operator: "< FILE", "> FILE", ">> FILE". Errors (usage): CMD or FILE is missing, a bad host.
io::Result<PipeSegment> parse_segment(std::string_view word);

// Divides a pipeline into stages, which run one after the other: a file that is written ends a stage, a file
// that is read begins one.
std::vector<PipeStage> stages_of(const std::vector<PipeSegment>& segments, bool have_input);

}  // namespace rdcp::cli
