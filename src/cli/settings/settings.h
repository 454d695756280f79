// Reads the settings that hold for every run (/etc/rdcp/options, ~/.config/rdcp/options) and those that hold
// for hosts (~/.config/rdcp/config, /etc/rdcp/config).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "io/result.h"

namespace rdcp::cli {

// A program's command line with the settings before the user's own words, which so count more.
class SettledWords {
 public:
  SettledWords(int argc, const char* const* argv, std::vector<std::string> settings);
  SettledWords(SettledWords&&) = default;
  SettledWords& operator=(SettledWords&&) = default;
  int argc() const { return static_cast<int>(pointers_.size()); }
  const char* const* argv() const { return pointers_.data(); }

 private:
  std::vector<std::string> settings_;
  std::vector<const char*> pointers_;  // into settings_ and the caller's argv
};

// Reads both files, unless argv has --agent: an agent does as its coordinator says. A file that is not there,
// or that this user may not open, is none. The user's is beneath $XDG_CONFIG_HOME if that is set. Errors: a
// file cannot be read (file); a line of it is not one of the options that may stand there, and is named
// (usage).
io::Result<SettledWords> with_settings(int argc, const char* const* argv);

// Parses rdcp's command line with the settings. An option of the command line counts more than a setting for
// the host, that more than an option from the files of with_settings(), and the user's file of each kind more
// than /etc/rdcp's. Settings for hosts hold where a host is named; if several are, and have different values
// of one (except rdcp-path, which each has for itself), the command line is refused. With --print-config the
// outcome is text to be printed.
//
// begin: is called once the command line makes sense, unless it is an agent's: gets the process ready, and
// finds out which hosts a list names (load_hosts()), before their settings are looked up.
using Begin = std::function<io::Result<void>(Options& options)>;
Parsed parse_with_settings(int argc, const char* const* argv, const Begin& begin);

// Reads the text of one file of options, `name` for messages. Each line has one option, as on the command
// line:
// --data-port 7000-7015, or --data-port=7000-7015. '#' begins a comment. Those may stand there that say how
// hosts are reached and how data travels: --no-deploy, --data-port, --encrypt, --no-encrypt, --no-ssh-data,
// --compress, --congestion, --tos and --no-numa.
io::Result<std::vector<std::string>> read_settings(std::string_view text, std::string_view name);

}  // namespace rdcp::cli
