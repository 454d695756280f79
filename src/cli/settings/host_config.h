// Reads settings that hold for hosts: the grammar of /etc/rdcp/config and ~/.config/rdcp/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

struct HostSetting {
  std::string key;    // an option's long name without its dashes
  std::string value;  // encrypt has "never", too
  std::string where;  // FILE:LINE

  // Returns the setting as a word of the command line: "--streams=8".
  std::string word() const;
};

// The names of the settings that may stand in such a file, in the order in which they are printed.
const std::vector<std::string_view>& host_setting_keys();

class HostConfig {
 public:
  // Parses the text of a file; `name` is for messages. Lines are KEY = VALUE; [host "PATTERN..."] begins the
  // settings of hosts that match, and what stands before the first of these holds for all hosts. '#' or ';'
  // at a line's beginning make it a comment. Error (usage): a line is none of these, or has a key, a pattern
  // or a value that is not understood; file and line are named.
  static io::Result<HostConfig> parse(std::string_view text, const std::string& name);

  // Returns the first value of `key` that holds for this host.
  std::optional<HostSetting> find(std::string_view key, std::string_view host) const;

 private:
  struct Entry {
    std::vector<std::string> patterns;  // empty: all hosts
    HostSetting setting;
  };
  std::vector<Entry> entries_;
};

// Returns true if one of the patterns matches the host and none that begins with '!' does, as in
// ssh_config(5): '*' stands for any bytes, '?' for one, and upper and lower case are the same.
bool host_matches(const std::vector<std::string>& patterns, std::string_view host);

}  // namespace rdcp::cli
