// The command lines of rdsend and rdrecv as a plain struct.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/options/options.h"
#include "cli/pipes/key_source.h"

namespace rdcp::cli {

struct PipeOptions {
  Options copy;      // what these programs have in common with rdcp
  std::string host;  // rdsend: where rdrecv is
  std::uint16_t port = 0;
  KeySource key;
  std::string file;               // empty: standard input or output
  std::chrono::seconds wait{10};  // rdsend: how long to wait for rdrecv
};

struct ParsedPipe : ParseOutcome {
  PipeOptions options;
};

// These parse argv as main() gets it. They print nothing.
ParsedPipe parse_send_options(int argc, const char* const* argv);
ParsedPipe parse_receive_options(int argc, const char* const* argv);

}  // namespace rdcp::cli
