// The command line as a plain struct.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/location.h"
#include "cli/selection.h"
#include "io/file.h"
#include "io/ring.h"
#include "tree/job.h"

namespace rdcp::cli {

using tree::kChunkBytesMax;
using tree::kRetrySecondsMax;
using tree::kStreamsMax;
inline constexpr std::uint64_t kChunkBytesMin = 64 * 1024;
inline constexpr unsigned kRetrySeconds = 60;

struct Options {
  std::string program = "rdcp";  // whose messages these are
  std::uint32_t umask = 022;     // of who gave them
  std::vector<Location> sources;
  Location destination;
  bool agent = false;  // be the far side of somebody's copy: all else is told over stdin

  bool doctor = false;  // look at this host, and at doctor_host; copy nothing
  std::optional<Location> doctor_host;
  bool json = false;

  tree::SyncSettings sync;
  std::string sync_option;  // one that makes sense with --sync only, and was given

  bool clean = false;  // remove what runs have left in clean_directory; with sync.dry_run: tell only
  Location clean_directory;

  bool resume = true;
  bool fsync = false;
  unsigned retry_seconds = 0;  // how long a stream that is lost is tried for; 0: not at all

  bool into_directory = false;  // one part of several SRC: DST must be a directory
  bool recursive = false;
  bool copy_devices = false;  // a device that is SRC is read
  bool preserve = false;      // -p: accepted, since metadata is kept always
  bool owner = true;
  bool xattrs = true;
  bool numeric_ids = false;
  bool inplace = false;       // large files are written into the old ones themselves
  bool whole_file = false;    // all of a file is sent, whatever the target has
  bool verify = false;        // read back what was written
  std::string manifest_file;  // where the digests of what is copied go, or what is checked against
  std::string sums_file;      // the same, as xxh128sum has it
  bool check = false;         // compare, copy nothing; with one of the files above, destination alone is read
  bool quick = false;         // without looking into files
  bool metadata = false;      // owners, modes, times and attributes, too

  SelectionWords selection_words;
  tree::Selection selection;                       // after load_selection()
  std::shared_ptr<const std::string> named_paths;  // --files-from: each path ended by NUL

  bool verbose = false;
  bool quiet = false;
  bool progress = false;  // also where stderr is no terminal

  std::vector<std::string> rsh{"ssh"};  // program and its words
  std::uint16_t ssh_port = 0;           // 0: ssh decides
  std::vector<std::string> identity_files;
  std::string ssh_config;  // empty: ssh decides
  std::vector<std::string> ssh_options;
  std::string rdcp_path = "rdcp";

  bool encrypt = false;
  net::Compression compress = net::kCompressOff;
  tree::Transport transport = tree::Transport::automatic;
  unsigned streams = 0;  // 0: automatic, else 1 to kStreamsMax
  std::uint64_t chunk_bytes =
      0;                      // 0: automatic, else a multiple of 4096 within kChunkBytesMin..kChunkBytesMax
  std::string via;            // address, interface or RDMA device; empty: automatic
  std::uint64_t bwlimit = 0;  // bytes per second, 0: none
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  std::string congestion;       // empty: the system's
  std::uint16_t data_port = 0;  // that the listening side listens on; 0: any
};

// True when --rsh's program is ssh, by its basename, and so takes ssh's options.
bool runs_ssh(const Options& options);

// --help and --version.
struct HelpFlags {
  bool help = false;
  bool version = false;
};

struct ParseOutcome {
  std::optional<int> exit_status;  // set: print text_out and text_err and leave with it
  std::string text_out;
  std::string text_err;

  // --help and --version leave with 0; every usage error is one line and a hint at --help, and leaves with
  // kExitUsage.
  void take(const HelpFlags& asked, const io::Result<void>& read, std::string_view program,
            const char* help_text);
};

struct Parsed : ParseOutcome {
  Options options;
};

// argv as main() gets it. Nothing is printed here.
Parsed parse_options(int argc, const char* const* argv);

}  // namespace rdcp::cli
