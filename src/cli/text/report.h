// Formats errors, and what rdcp prints when a copy is over.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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
  // These could not keep it, if several hosts are copied to; the first one first.
  std::vector<std::string> hosts = {};
};

struct Summary {
  std::string program = "rdcp";  // the program that prints it
  bool is_complete = true;       // all that was to be copied is there, so the counts are of what was copied
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t others = 0;  // symlinks, hard links, FIFOs, sockets, nodes
  std::uint64_t bytes = 0;   // content of the files
  double seconds = 0;
  unsigned streams = 0;         // 0: none was needed
  std::vector<io::Words> ways;  // what the streams run over, by stream
  std::string ring;             // io::Ring::description(), or both sides' where they differ
  bool encrypted = false;
  bool carrier_encrypts = false;                      // ssh carries the data, and encrypts it itself
  bool compress = false;                              // compression was asked for
  std::uint64_t payload_bytes = 0, packed_bytes = 0;  // of all streams, before and after compression
  std::string limited_by;                             // "target writes (3.7 GB/s)"; empty: not known
  std::uint64_t retried_chunks = 0;
  std::uint64_t kept_bytes = 0;  // the part of `bytes` that the target had already
  std::uint64_t wire_bytes = 0;  // what was sent for the rest, headers included
  std::vector<Loss> losses;
  std::vector<io::Words> warnings;  // one line each
  std::vector<io::Words> notes;     // one line each, with -v only
};

// Returns "PROGRAM: ERROR\n".
std::string error_line(const io::Error& error, std::string_view program = "rdcp");

// Returns why a signal has ended the run: "ended by SIGINT", or that the time of --max-runtime is over
// (SIGALRM).
std::string cause_of_end(int signal);

// Returns a line for each warning, then one for each kind of loss. rdcp prints them unless -q is given.
std::string warning_lines(const Summary& summary);

// Returns the summary and the warnings for programs, for --json.
nlohmann::ordered_json summary_json(const Summary& summary);

// Returns what -v prints: the summary, whose last line is "Bandwidth 5.127 GB/s" (10^9 bytes per second) of
// what the target did not have already.
std::string summary_lines(const Summary& summary);

// Returns what takes the place of a progress line: "rdcp: 90 files, 45.6 GB in 0:14, 3.21 GB/s".
std::string summary_line(const Summary& summary);

}  // namespace rdcp::cli
