// The options that several of the programs take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/command_line.h"
#include "cli/options/options.h"
#include "io/result.h"

namespace rdcp::cli {

// Returns a usage error that reads "WHAT: why".
io::Error refuse(std::string_view what, std::string_view why);

// Stores a parsed value in `to`, or returns its error.
template <class To, class From>
io::Result<void> assign(To& to, io::Result<From> from) {
  if (!from) return from.error();
  to = static_cast<To>(std::move(from).value());
  return {};
}
// Returns a function that stores an option's word in `to` as it is.
CommandLine::Take keep(std::string& to);

// Adds -h and --version; see ParseOutcome::take().
void add_help_options(CommandLine& line, HelpFlags& asked);
// Adds -v and -q.
void add_tell_options(CommandLine& line, Options& options);
void add_progress_option(CommandLine& line, Options& options);
// Errors (usage): -q with -v or --progress.
io::Result<void> check_tell_options(const Options& options);
// Adds the options that say how to reach other hosts: --rsh, --rdcp-path, and ssh's own --identity, -F, -o.
// identity_names must not have "-i" if another option has that letter.
void add_host_options(CommandLine& line, Options& options, const char* identity_names = "-i,--identity");
// Error (usage): ssh's options are given, but --rsh is not ssh.
io::Result<void> check_host_options(Options& options);
// Adds what the coordinator alone decides: --streams, --chunk-size, --bwlimit.
void add_volume_options(CommandLine& line, Options& options);
// Adds --data-port and --no-ssh-data. `--via ssh` belongs to them.
void add_way_options(CommandLine& line, Options& options);
// Refuses those that contradict each other.
io::Result<void> check_way_options(const Options& options);

// Adds --encrypt and --no-encrypt. With both, --encrypt counts.
void add_encrypt_options(CommandLine& line, Options& options);
// Adds --compress, which the source alone decides.
void add_compress_option(CommandLine& line, Options& options);
// Returns the byte that the word stands for: a number from 0 to 255, also as 0x68, or a name that IPQoS of
// ssh_config(5) has, upper or lower case; a name of a DSCP (RFC 2474, 2597, 3246, 5865, 8622) leaves ECN 0.
// Returns nothing for "none": the system's default. Error (usage): it is neither; it lists what there is.
io::Result<std::optional<std::uint8_t>> parse_traffic_class(std::string_view word);

// Returns "traffic class 104 (DSCP 26, af31)", or the same without a name where the DSCP has none.
std::string describe_traffic_class(std::uint8_t traffic_class);

// Adds what each end may set for itself: --transport, --via, --congestion, --tos, --cache, --ring,
// --no-landlock, --no-numa and --numa, the later of which counts.
void add_path_options(CommandLine& line, Options& options);

}  // namespace rdcp::cli
