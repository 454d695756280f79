// Options that several of the programs take, each read here alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/command_line.h"
#include "cli/options.h"
#include "io/result.h"

namespace rdcp::cli {

// "WHAT: why", as a usage error.
io::Error refuse(std::string_view what, std::string_view why);

// Hands a parsed value on to where it belongs.
template <class To, class From>
io::Result<void> assign(To& to, io::Result<From> from) {
  if (!from) return from.error();
  to = static_cast<To>(std::move(from).value());
  return {};
}
// What keeps an option's word as it is.
CommandLine::Take keep(std::string& to);

// -h, --version; see ParseOutcome::take().
void add_help_options(CommandLine& line, HelpFlags& asked);
// -v, -q.
void add_tell_options(CommandLine& line, Options& options);
void add_progress_option(CommandLine& line, Options& options);
// Errors (usage): -q with -v or --progress.
io::Result<void> check_tell_options(const Options& options);
// How other hosts are reached: --rsh, --rdcp-path, and ssh's own --identity, -F, -o. identity_names: without
// "-i" where that letter is another option's.
void add_host_options(CommandLine& line, Options& options, const char* identity_names = "-i,--identity");
// Error (usage): ssh's options where --rsh is not ssh.
io::Result<void> check_host_options(const Options& options);
// What the coordinator alone decides: --streams, --chunk-size, --bwlimit.
void add_volume_options(CommandLine& line, Options& options);
// --encrypt, which both ends of a pipe must be told.
void add_encrypt_option(CommandLine& line, Options& options);
// --compress, which the source alone decides.
void add_compress_option(CommandLine& line, Options& options);
// What the data goes through at either end: --transport, --via, --congestion, --cache, --ring.
void add_path_options(CommandLine& line, Options& options);

}  // namespace rdcp::cli
