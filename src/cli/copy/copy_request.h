// Describes a copy, whichever program asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/agents/agent_session.h"
#include "cli/options/options.h"
#include "cli/text/progress.h"
#include "io/result.h"
#include "net/sockets/address.h"
#include "tree/messages/alterations.h"
#include "tree/messages/copy_settings.h"
#include "tree/messages/selection.h"
#include "tree/messages/source_wishes.h"
#include "tree/messages/stream_wish.h"
#include "tree/messages/sum_line.h"
#include "tree/messages/target_wishes.h"

namespace rdcp::cli {

class JsonReport;

// Who takes part in a copy, and how they meet.
struct Parties {
  using Start = std::function<io::Result<std::unique_ptr<AgentSession>>()>;
  Start start_source;
  std::vector<Start> start_targets;  // one for each target
  tree::Connect source_connects = tree::Connect::connect;
  bool target_is_far = true;  // round trips are measured to it, else to the source
  bool have_key = false;      // both agents know the streams' key, so no job carries one
  // If set, these start bridges to the agents' hosts, which their sessions cannot do; on this host none are
  // needed. May be called by any thread.
  using Carry = std::function<io::Result<std::unique_ptr<Bridge>>(const net::Address& at, io::Fd connection,
                                                                  Login login)>;
  Carry carry_to_source = {};
  Carry carry_to_target = {};
  // The address to which streams over TCP connect, whatever the listening side reports; port 0 stands for the
  // port that it reports.
  std::optional<net::Address> reached = {};
};

// Says how much of a copy its user sees.
struct CopyView {
  std::string program = "rdcp";  // the program that messages name
  bool progress = false;         // even if stderr is not a terminal
  bool verbose = false;
  bool quiet = false;
  JsonReport* json = nullptr;                // if set, it makes lines for standard output of all that happens
  std::vector<std::string> lost_hosts = {};  // of those that have failed: a line each, for the table
  HostCounts hosts = {};                     // what has become so far of those that a copy to several has
  bool sends = false;  // files go from this host to another one: changes are shown by "<"
  // If set, it is told of problems, and nothing is printed.
  std::function<void(io::ErrorKind kind, const std::string& text)> tell = {};
  std::function<void(const std::string& line)> remark = {};  // likewise, of what is no problem
};

struct CopyRequest {
  Parties parties = {};
  CopyView view = {};

  // Says what is copied, and where to.
  std::vector<std::string> sources = {};
  bool finds_sources = false;   // some of them are patterns, to be expanded on their host
  bool standard_input = false;  // the source is one, "-"
  std::string destination = {};
  bool standard_output = false;    // the destination is this
  bool into_directory = false;     // these are some of several SRC, so DST must be a directory
  bool make_path = false;          // make the directories that DST lies in
  tree::TargetWishes wishes = {};  // all others
  tree::SourceWishes source_wishes = {};
  bool recursive = false;
  bool copy_devices = false;  // read a device that is itself a SRC
  tree::Selection selection = {};
  std::shared_ptr<const std::string> named_paths = {};  // --files-from: each path ended by NUL
  bool named_apart = false;                             // the destination is in none of them
  std::string run_marker = {};                          // name of the run's marker; empty: none is left

  // How it is copied.
  tree::CopySettings settings = {};    // without `delta` and `checksum`, which copy_settings() adds
  bool whole_file = false;             // send all of a file, whatever the target has of it
  std::uint32_t umask = 022;           // the user's
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  tree::Alteration alteration = {};    // how metadata differs from the source's
  tree::StreamWish wish = {};          // the coordinator adds who connects, and a key if none is known
  bool numa = true;                    // streams run near their RDMA devices
  bool ipv4 = false, ipv6 = false;     // TCP connects to addresses of this family only; neither: to all
  unsigned streams = 0;                // 0: automatic
  bool any_chunk_size = false;         // the one in `settings` is automatic
  unsigned fanout = 0;                 // to how many others each of several targets passes on; 0: automatic
  bool keep_slow = false;              // of several hosts none leaves the chain because it is slow
  std::size_t slow_may_leave = 0;      // how many may leave this one; Fleet says so
  bool one_way = false;                // the port is for the side that the parties have listen, and no other
  Options::SshData ssh_data = Options::SshData::if_needed;  // whether the data goes through ssh
  std::string carrier = "ssh";                              // what stands in for ssh, by its name
  std::optional<std::uint8_t> traffic_class = {};  // of the streams' packets; none: the system's default

  // If set, it is called with the digest of each entry that has arrived.
  std::function<void(const tree::SumLine&)> hear_sum = {};

  // True if what goes over the network is compressed.
  bool compresses() const;
  // True if it is compressed, or the user has asked that it be encrypted.
  bool wraps() const;
};

// Returns the copy that rdcp's options ask for. Their sources are all on one host.
CopyRequest request_of(const Options& options);
// Returns the copy of one stream of bytes between agents that know themselves where it comes from and where
// it goes. It uses the options that rdsend and rdpipe have in common with rdcp.
CopyRequest stream_request(const Options& options, Parties parties);

// Says what an earlier run of the same command has left, and whether its writes are surely on the disk.
enum class EarlierRun : unsigned char { none, sound, doubtful };
// Returns the settings of both agents' jobs. What an earlier run has copied is skipped as by --sync.
tree::CopySettings copy_settings(const CopyRequest& request, EarlierRun earlier);

}  // namespace rdcp::cli
