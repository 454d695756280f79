// The shell command by which an agent is found, or put, on another host.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launch/agent_files.h"

namespace rdcp::cli {

// Which agents may serve. A program that was found may turn out to speak another protocol version.
enum class Search : unsigned char { everywhere, only_ours };

struct WayIn {
  Search search = Search::everywhere;
  std::string same_path;                   // where rdcp is here, and so perhaps there; empty: unknown
  std::vector<AgentFile> agents;           // that may have been put there, or may be now
  bool may_put = false;                    // if not, only those that are there already are used
  std::vector<std::string> agent_options;  // for the agent
};

// Returns a line that sh, csh, fish and their like pass on to sh(1). It starts the first rdcp of: same_path,
// PATH, ~/.local/bin, and what an earlier run has put there. Where there is none, it asks for the agent of
// its processor by the line "\1put PROCESSOR PLACE" on standard output, and reads that many bytes from
// standard input. They go into PLACE/VERSION-DIGEST/rdcp, of which the three newest are kept; PLACE is
// ~/.cache/rdcp, or rdcp-UID in /tmp or /var/tmp where nothing can be written or executed in the first.
// "\1none PROCESSOR" says that there is no agent for it, or that none may be put there, and "\1nowhere" that
// no place was found; then it ends.
std::string way_in(const WayIn& way);

// A line of the way in, read.
struct AgentAsk {
  enum class Kind : unsigned char { put, none, nowhere } kind;
  std::string processor;
  std::string place;
};
// Reads such a line, without its end. Nothing: it is not one of these.
std::optional<AgentAsk> read_agent_ask(std::string_view line);

}  // namespace rdcp::cli
