// What rdcp says on stderr when a copy is over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "io/words.h"

namespace rdcp::cli {

// A kind of metadata that could not be kept, with its first case.
struct Loss {
  std::string kind;  // "owner or group"
  std::uint64_t count = 0;
  std::string first_path;  // raw bytes
  std::string cause;
};

struct Summary {
  std::string program = "rdcp";  // that says it
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t others = 0;  // symlinks, hard links, FIFOs, sockets, nodes
  std::uint64_t bytes = 0;   // of files' content
  double seconds = 0;
  unsigned streams = 0;         // 0: none was needed
  std::vector<io::Words> ways;  // what the streams run over, by stream
  std::string ring;             // io::Ring::description(), or both sides' where they differ
  bool encrypted = false;
  bool compress = false;                              // was asked for
  std::uint64_t payload_bytes = 0, packed_bytes = 0;  // of the streams, before and after compression
  std::string limited_by;                             // "target writes (3.7 GB/s)"; empty: not known
  std::uint64_t retried_chunks = 0;
  std::uint64_t kept_bytes = 0;  // of bytes: what the target had already
  std::uint64_t wire_bytes = 0;  // what was sent for the rest, headers included
  std::vector<Loss> losses;
  std::vector<io::Words> warnings;  // one line each
  std::vector<io::Words> notes;     // the same, with -v only
};

// "PROGRAM: ERROR\n".
std::string error_line(const io::Error& error, std::string_view program = "rdcp");

// One line for each warning, then one for each kind of loss; printed whether or not -v is given, but not with
// -q when nothing failed.
std::string warning_lines(const Summary& summary);

// The same and more for programs, with --json: an object on one line. Text that is no UTF-8 has U+FFFD.
std::string summary_json(const Summary& summary);

// What -v prints: the summary, and last of all "Bandwidth 5.127 GB/s" (10^9 bytes) on a line of its own.
std::string summary_lines(const Summary& summary);

}  // namespace rdcp::cli
