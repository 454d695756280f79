// The static agents (rdcp-agent) that this installation can put on other hosts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

struct AgentFile {
  std::string processor;  // as uname(1) -m says it there
  std::string path;       // here
  std::string sha256;     // of what is put there: 64 hexadecimal digits, from rdcp-agent-PROCESSOR.sha256
  std::uint64_t bytes = 0;
  bool packed = false;  // the file is compressed (zstd), and named .zst
};

// Returns the agents beside this program, and in ../libexec/rdcp from there, at most one for each processor.
// One whose list of sums (as sha256sum prints it) is missing or makes no sense does not count.
std::vector<AgentFile> agent_files();
// The same, for a program at this path.
std::vector<AgentFile> agent_files_of(std::string_view program);

// Returns the path of this program, or nothing if the kernel does not tell (proc(5), exe).
std::string own_path();

// Opens the agent, unpacked, and checks that its content is what its list of sums says.
io::Result<io::Fd> open_agent(const AgentFile& file);

}  // namespace rdcp::cli
