// The command line as a plain struct.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/remote_shell.h"
#include "cli/options/selection.h"
#include "cli/places/host_list.h"
#include "cli/places/location.h"
#include "cli/text/json_text.h"
#include "io/file.h"
#include "io/ring.h"
#include "tree/messages/alterations.h"
#include "tree/messages/job.h"

namespace rdcp::cli {

using tree::kChunkBytesMax;
using tree::kRetrySecondsMax;
using tree::kStreamsMax;
inline constexpr std::uint64_t kChunkBytesMin = 64 * 1024;
inline constexpr unsigned kRetrySeconds = 60;
inline constexpr unsigned kRetriesMax = 10'000;
inline constexpr std::uint32_t kRuntimeMax = 365 * 24 * 60 * 60;

struct Options {
  std::string program = "rdcp";  // the program that messages name
  std::uint32_t umask = 022;     // the user's
  std::vector<Location> sources;
  Location destination;                        // the first of them
  std::vector<Location> further_destinations;  // the same path on other hosts
  HostWords host_words;
  std::string failed_hosts;      // a file for those that do not have all; empty: none
  unsigned fanout = 0;           // to how many others each of several hosts passes on; 0: automatic
  bool keep_slow_hosts = false;  // none leaves the chain because it is slow
  bool agent = false;            // be an agent; the coordinator says everything else over stdin
  std::string bridge;            // with `agent`: be the far end of a bridge to this ADDRESS,PORT instead

  bool doctor = false;  // look at this host, and at doctor_host; copy nothing
  std::optional<Location> doctor_host;
  std::optional<Location> complete;      // only print what on this host begins with the path
  std::optional<Location> print_config;  // only say which settings hold for this host
  std::optional<JsonForm> json;

  tree::SyncSettings sync;
  std::string sync_option;    // one that was given and goes with --sync or -r; empty: none
  std::string mirror_option;  // the same for --sync only

  bool clean = false;  // remove what runs have left in the destination; with sync.dry_run only list it

  bool resume = true;
  bool fsync = false;
  unsigned retry_seconds = 0;     // how long to try to get a lost stream back; 0: not at all
  std::uint32_t max_runtime = 0;  // seconds after which the program ends; 0: never
  std::string log_file;           // empty: none
  unsigned retries = 0;           // how often the copy is made anew after a lost connection

  bool into_directory = false;  // there are several SRC, so DST must be a directory
  bool recursive = false;
  bool copy_links = false;           // copy what symbolic links lead to
  bool remove_source_files = false;  // remove from SRC what was copied
  bool copy_devices = false;         // read a device that is a SRC itself
  bool preserve = false;             // -p has no effect, since metadata is always kept
  bool owner = true;
  std::string chmod;           // --chmod's changes of modes, all together; empty: none
  tree::NewOwner user, group;  // --chown
  bool xattrs = true;
  bool numeric_ids = false;
  bool make_path = false;  // --mkpath
  bool backup = false;     // --backup
  std::optional<std::string> backup_suffix;
  std::string backup_directory;
  std::vector<std::string> link_directories;  // --link-dest
  std::string target_option;                  // one that was given and asks the target for more; empty: none
  bool inplace = false;                       // write large files into the old ones
  bool whole_file = false;                    // send all of a file, whatever the target has of it
  bool verify = false;                        // read back what was written
  std::string manifest_file;                  // the list of digests to write, or with --check to compare with
  std::string sums_file;                      // the same in the format of xxh128sum
  bool check = false;     // compare, copy nothing; with one of the lists above, read destination alone
  bool quick = false;     // with --check: read no file's content
  bool metadata = false;  // with --check: compare owners, modes, times and attributes, too

  SelectionWords selection_words;
  tree::Selection selection;                       // filled by load_selection()
  std::shared_ptr<const std::string> named_paths;  // --files-from: each path ended by NUL
  bool named_apart = false;                        // DST is in none of them, though it may be in SRC

  bool verbose = false;
  bool quiet = false;
  bool progress = false;  // even if stderr is not a terminal

  RemoteShell shell;
  bool rsh_given = false;  // --rsh
  std::string launcher;    // --launcher; empty: not given

  net::Sealing encrypt = net::Sealing::rather;  // never, always, or rather: over TCP to another host
  net::Compression compress = net::kCompressOff;
  tree::Transport transport = tree::Transport::automatic;
  unsigned streams = 0;             // 0: automatic, else 1 to kStreamsMax
  std::uint64_t chunk_bytes = 0;    // 0: automatic, else a multiple of 4096, kChunkBytesMin..kChunkBytesMax
  bool through_here = false;        // -3: between two hosts the data takes the way through this one
  bool ipv4 = false, ipv6 = false;  // only addresses of this family are connected to
  std::string via;                  // address, interface or RDMA device; empty: automatic
  std::uint64_t bwlimit = 0;        // bytes per second, 0: none
  std::string bwlimit_warning;      // that its unit is not rsync's; empty: it has one
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  std::string congestion;                           // empty: the system's default
  bool numa = true;                                 // false with --no-numa: streams stay where they are
  std::optional<std::uint8_t> traffic_class;        // --tos; none: the system's default
  std::uint16_t data_port = 0, data_port_last = 0;  // the ports that are listened on for data; 0: any
  enum class SshData : unsigned char { if_needed, never, always };
  SshData ssh_data = SshData::if_needed;  // whether the data goes through ssh
};

// --help and --version.
struct HelpFlags {
  bool help = false;
  bool version = false;
};

struct ParseOutcome {
  std::optional<int> exit_status;  // if set: print text_out and text_err and exit with it
  std::string text_out;
  std::string text_err;

  // Fills the fields. --help and --version exit with 0. A usage error is one line and a hint at --help, and
  // exits with kExitUsage.
  void take(const HelpFlags& asked, const io::Result<void>& read, std::string_view program,
            const char* help_text);
};

struct Parsed : ParseOutcome {
  Options options;
};

// Returns what --json, if it is among the words, prints on standard output where the command line is refused.
std::string json_of_refusal(int argc, const char* const* argv, const io::Error& error);

// Parses argv as main() gets it. Prints nothing.
Parsed parse_options(int argc, const char* const* argv);

}  // namespace rdcp::cli
