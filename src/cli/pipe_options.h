// The command lines of rdsend and rdrecv as a plain struct.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/key_source.h"
#include "cli/options.h"

namespace rdcp::cli {

struct PipeOptions {
  Options copy;      // what these programs have in common with rdcp
  std::string host;  // rdsend
  std::uint16_t port = 0;
  KeySource key;
  std::string file;               // empty: standard input or output
  std::chrono::seconds wait{10};  // rdsend: for rdrecv to be there
};

struct ParsedPipe : ParseOutcome {
  PipeOptions options;
};

// argv as main() gets it. Nothing is printed here.
ParsedPipe parse_send_options(int argc, const char* const* argv);
ParsedPipe parse_receive_options(int argc, const char* const* argv);

}  // namespace rdcp::cli
