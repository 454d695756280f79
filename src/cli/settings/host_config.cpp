#include "cli/settings/host_config.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cli/options/options.h"
#include "cli/text/split_words.h"

namespace rdcp::cli {

using io::Result;

namespace {

io::Error refuse_line(const std::string& where, std::string_view line, std::string_view why) {
  return io::plain_error(io::ErrorKind::usage, where + ":", line, why);
}

// Returns what stands between the quotes, if there are any.
std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// Reads [host "PATTERN..."].
Result<std::vector<std::string>> patterns_of(std::string_view line, const std::string& where) {
  constexpr std::string_view kForm = "is not understood; a section begins with [host \"PATTERN...\"]";
  constexpr std::string_view kBegin = "[host";
  if (!line.starts_with(kBegin) || !line.ends_with(']')) return refuse_line(where, line, kForm);
  std::string_view rest = line.substr(kBegin.size(), line.size() - kBegin.size() - 1);
  if (rest.empty() || (rest.front() != ' ' && rest.front() != '\t' && rest.front() != '"'))
    return refuse_line(where, line, kForm);
  rest = unquoted(trimmed(rest));
  std::vector<std::string> patterns;
  constexpr std::string_view kBetween = " \t,";
  while (!(rest = rest.substr(std::min(rest.find_first_not_of(kBetween), rest.size()))).empty()) {
    const std::string pattern(rest.substr(0, rest.find_first_of(kBetween)));
    rest.remove_prefix(pattern.size());
    if (pattern == "!" || pattern.find_first_of("\"@/[]\\") != pattern.npos)
      return refuse_line(where, pattern,
                         "is not a pattern of host names; write names with * and ?, or !NAME");
    patterns.push_back(pattern);
  }
  const auto is_negative = [](const std::string& pattern) { return pattern.front() == '!'; };
  if (std::ranges::all_of(patterns, is_negative))
    return refuse_line(where, line, "matches no host; name one, or * for all");
  return patterns;
}

// Tries the setting on a command line, so that both take the same values.
Result<void> check_value(const HostSetting& setting) {
  const auto refuse = [&](std::string_view why) { return refuse_line(setting.where, setting.key, why); };
  if (setting.value.empty()) return refuse("needs a value");
  if (setting.key == "numa" && setting.value != "auto" && setting.value != "never")
    return refuse("must be one of auto, never");
  const std::string word = setting.word();
  const char* const argv[] = {"rdcp", word.c_str(), "--", "host:a", "b"};
  const Parsed parsed = parse_options(static_cast<int>(std::size(argv)), argv);
  if (!parsed.exit_status) return {};
  constexpr std::string_view kProgram = "rdcp: ";
  const std::string_view why = parsed.text_err;
  return refuse(why.substr(kProgram.size(), why.find('\n') - kProgram.size()));
}

Result<HostSetting> setting_of(std::string_view line, const std::string& where) {
  const std::size_t sign = line.find('=');
  if (sign == line.npos) return refuse_line(where, line, "is not KEY = VALUE");
  HostSetting setting{.key = std::string(trimmed(line.substr(0, sign))),
                      .value = std::string(unquoted(trimmed(line.substr(sign + 1)))),
                      .where = where};
  const auto& keys = host_setting_keys();
  if (std::ranges::find(keys, setting.key) == keys.end()) {
    return refuse_line(where, setting.key,
                       fmt::format("is not a setting; there are {}", fmt::join(keys, ", ")));
  }
  if (auto checked = check_value(setting); !checked) return checked.error();
  return setting;
}

}  // namespace

std::string HostSetting::word() const {
  if (key == "encrypt" && value == "never") return "--no-encrypt";
  if (key == "numa") return value == "never" ? "--no-numa" : "--numa";
  return "--" + key + "=" + value;
}

const std::vector<std::string_view>& host_setting_keys() {
  static const std::vector<std::string_view> keys{"rdcp-path", "launcher",   "transport", "via",
                                                  "data-port", "encrypt",    "streams",   "bwlimit",
                                                  "compress",  "congestion", "tos",       "numa"};
  return keys;
}

Result<HostConfig> HostConfig::parse(std::string_view text, const std::string& name) {
  HostConfig config;
  std::vector<std::string> patterns;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = fmt::format("{}:{}", name, number);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.find('\0') != line.npos) return refuse_line(where, line, "has a NUL byte");
    if (line.front() == '[') {
      auto read = patterns_of(line, where);
      if (!read) return read.error();
      patterns = std::move(*read);
      continue;
    }
    auto setting = setting_of(line, where);
    if (!setting) return setting.error();
    config.entries_.push_back({patterns, std::move(*setting)});
  }
  return config;
}

std::optional<HostSetting> HostConfig::find(std::string_view key, std::string_view host) const {
  for (const Entry& entry : entries_) {
    if (entry.setting.key != key) continue;
    if (entry.patterns.empty() || host_matches(entry.patterns, host)) return entry.setting;
  }
  return std::nullopt;
}

bool host_matches(const std::vector<std::string>& patterns, std::string_view host) {
  bool matched = false;
  const std::string name(host);
  for (const std::string& pattern : patterns) {
    const bool negative = pattern.front() == '!';
    if (::fnmatch(pattern.c_str() + (negative ? 1 : 0), name.c_str(), FNM_CASEFOLD | FNM_NOESCAPE) != 0)
      continue;
    if (negative) return false;
    matched = true;
  }
  return matched;
}

}  // namespace rdcp::cli
