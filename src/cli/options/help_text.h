// The texts that --help prints.
#pragma once

namespace rdcp::cli {

// A test holds each to at most 100 lines of at most 80 columns.
extern const char* const kHelpText;          // rdcp
extern const char* const kSendHelpText;      // rdsend
extern const char* const kReceiveHelpText;   // rdrecv
extern const char* const kPipelineHelpText;  // rdpipe

}  // namespace rdcp::cli
