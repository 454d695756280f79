#include "cli/settings/settings.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "cli/options/known_file.h"
#include "cli/settings/host_config.h"
#include "cli/text/exit_status.h"
#include "cli/text/process.h"
#include "cli/text/split_words.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;

namespace {

constexpr std::size_t kBytesMax = 64 << 10;
constexpr const char* kForAll = "/etc/rdcp/options";

enum class Value : unsigned char { none, optional, needed };
struct Setting {
  std::string_view option;
  Value value;
};
constexpr std::array kSettings = {
    Setting{"--no-deploy", Value::none},    Setting{"--data-port", Value::needed},
    Setting{"--encrypt", Value::optional},  Setting{"--no-encrypt", Value::none},
    Setting{"--no-ssh-data", Value::none},  Setting{"--compress", Value::optional},
    Setting{"--congestion", Value::needed}, Setting{"--tos", Value::needed},
    Setting{"--no-numa", Value::none},
};

// Returns the word of one line that is not empty.
Result<std::string> word_of(std::string_view line, const std::string& where) {
  const auto refuse = [&](std::string_view why) {
    return io::plain_error(ErrorKind::usage, where, line, why);
  };
  const std::size_t end = std::min(line.find_first_of(" \t="), line.size());
  const auto setting = std::ranges::find(kSettings, line.substr(0, end), &Setting::option);
  if (setting == kSettings.end()) return refuse("is not an option that may stand here");
  const std::string_view value = end == line.size() ? std::string_view() : trimmed(line.substr(end + 1));
  if (value.empty() && setting->value == Value::needed) return refuse("needs a value");
  if (end != line.size() && setting->value == Value::none) return refuse("takes no value");
  return std::string(setting->option) + (value.empty() ? "" : "=" + std::string(value));
}

// Returns the path of the user's own file of this name, or nothing.
std::string users_file(const std::string& name) {
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder == '/') return std::string(folder) + "/rdcp/" + name;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.config/rdcp/" + name : std::string();
}

// Returns nothing for a file that is not there. Others must not be able to write it: they would choose what
// is started on hosts, and whether data is encrypted.
Result<std::string> text_of(const std::string& path) {
  if (path.empty()) return std::string();
  const auto file = open_known_file(path, "only such a file is read");
  if (!file && (file.error().code == ENOENT || file.error().code == ENOTDIR || file.error().code == EACCES))
    return std::string();
  if (!file) return file.error();
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return io::errno_error("read", path);
  if ((status.st_uid != 0 && status.st_uid != ::geteuid()) || (status.st_mode & 022) != 0) {
    return io::plain_error(ErrorKind::usage, "settings", path,
                           "may be written by others; make it yours, and 'chmod go-w' it");
  }
  return read_opened(file->get(), path, kBytesMax);
}

// Returns the setting that a word is about: "encrypt" for --no-encrypt and --encrypt=auto.
std::string_view key_of(std::string_view word) {
  word = word.substr(0, word.find('='));
  if (word == "--no-encrypt") return "encrypt";
  if (word == "--no-numa") return "numa";
  return word.starts_with("--") ? word.substr(2) : std::string_view();
}

// The user's own words, as far as they decide which settings count.
class Given {
 public:
  Given(int argc, const char* const* argv) {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) keys_.push_back(key_of(argv[i]));
  }
  bool has(std::string_view key) const { return std::ranges::find(keys_, key) != keys_.end(); }
  // True if a setting must give way, because the user has given it or what cannot go with it.
  bool beats(std::string_view key, std::string_view value) const {
    if (has(key)) return true;
    if (key == "via" && value == "ssh") return has("no-ssh-data") || has("transport");
    return (key == "no-ssh-data" || (key == "transport" && value == "rdma")) && has("via");
  }

 private:
  std::vector<std::string_view> keys_;
};

std::string_view value_of(std::string_view word) {
  const std::size_t sign = word.find('=');
  return sign == word.npos ? std::string_view() : word.substr(sign + 1);
}

Result<HostConfig> read_config(const std::string& path) {
  const auto text = text_of(path);
  return text ? HostConfig::parse(*text, path) : text.error();
}

using Configs = std::vector<HostConfig>;  // the user's first

Result<Configs> read_configs() {
  Configs configs;
  for (const std::string& path : {users_file("config"), std::string("/etc/rdcp/config")}) {
    auto config = read_config(path);
    if (!config) return config.error();
    configs.push_back(std::move(*config));
  }
  return configs;
}

std::optional<HostSetting> find(const Configs& configs, std::string_view key, const std::string& host) {
  for (const HostConfig& config : configs) {
    if (auto found = config.find(key, host)) return found;
  }
  return std::nullopt;
}

std::vector<Location*> hosts_of(Options& options) {
  std::vector<Location*> hosts;
  const auto add = [&](Location& location) {
    if (is_remote(location)) hosts.push_back(&location);
  };
  for (Location& source : options.sources) add(source);
  add(options.destination);
  for (Location& target : options.further_destinations) add(target);
  if (options.doctor_host) add(*options.doctor_host);
  if (options.print_config) add(*options.print_config);
  if (options.complete) add(*options.complete);
  return hosts;
}

// Returns what holds for all of the hosts together, each key once. What leaves out encryption does so only
// where each of them says so. rsh_given: --rsh says what reaches them.
Result<std::vector<HostSetting>> common_settings(const Configs& configs, const std::vector<Location*>& hosts,
                                                 const Given& given, bool rsh_given) {
  std::vector<HostSetting> common;
  for (const std::string_view key : host_setting_keys()) {
    if (key == "rdcp-path" || (key == "launcher" && rsh_given)) continue;
    std::optional<HostSetting> first;
    bool some_have_none = false;
    for (const Location* host : hosts) {
      const auto found = find(configs, key, host->host);
      some_have_none |= !found;
      if (!found || given.beats(key, found->value)) continue;
      if (first && first->value != found->value) {
        return io::plain_error(ErrorKind::usage, found->where + ":", key,
                               fmt::format("differs from {}, which holds for another host of this command; "
                                           "give --{} on the command line",
                                           first->where, key));
      }
      first = found;
    }
    const bool weakens_others = some_have_none && key == "encrypt" && first && first->value == "never";
    if (first && !weakens_others) common.push_back(*first);
  }
  return common;
}

Parsed refused(int argc, const char* const* argv, const io::Error& error) {
  Parsed parsed;
  parsed.exit_status = exit_status(error.kind, end_is_asked_for());
  parsed.text_out = json_of_refusal(argc, argv, error);
  parsed.text_err = fmt::format("rdcp: {}\n", error.message());
  return parsed;
}

struct FileWord {
  std::string word;
  std::string path;
};

// Returns the words of the files of options that the user's own do not replace; the user's file comes last.
Result<std::vector<FileWord>> file_words(const Given& given) {
  std::vector<FileWord> words;
  for (const std::string& path : {std::string(kForAll), users_file("options")}) {
    const auto text = text_of(path);
    if (!text) return text.error();
    const auto of_file = read_settings(*text, path);
    if (!of_file) return of_file.error();
    for (const std::string& word : *of_file) {
      if (given.beats(key_of(word), value_of(word))) continue;
      std::erase_if(words, [&](const FileWord& other) { return key_of(other.word) == key_of(word); });
      words.push_back({word, path});
    }
  }
  return words;
}

std::string print_line(std::string_view key, std::string_view value, std::string_view where) {
  return fmt::format("{} {} ({})\n", key, io::printable(value), io::printable(where));
}

std::string_view default_of(std::string_view key) {
  if (key.starts_with("no-")) return "no";
  if (key == "launcher") return "ssh";
  if (key == "tos") return "none";
  return key == "compress" || key == "bwlimit" ? "off" : "auto";
}

// Returns a line for each setting, with its value and where it comes from.
std::string print_settings(const Given& given, const std::vector<HostSetting>& settings,
                           const std::vector<FileWord>& words) {
  std::string text;
  std::vector<std::string_view> keys = host_setting_keys();
  keys.insert(keys.end(), {"no-deploy", "no-ssh-data"});
  for (const std::string_view key : keys) {
    const auto setting = std::ranges::find(settings, key, &HostSetting::key);
    const auto word = std::ranges::find_if(words, [&](const auto& w) { return key_of(w.word) == key; });
    if (given.has(key)) {
      text += print_line(key, "as given", "command line");
    } else if (setting != settings.end()) {
      text += print_line(key, setting->value, setting->where);
    } else if (word != words.end()) {
      const std::string_view value = value_of(word->word);
      text += print_line(key, value.empty() ? word->word : value, word->path);
    } else {
      text += print_line(key, default_of(key), "default");
    }
  }
  return text;
}

// Returns the words before the user's own: a setting for the host replaces an option of a file.
std::vector<std::string> words_of(std::vector<FileWord>& files, const std::vector<HostSetting>& settings) {
  std::vector<std::string> words;
  for (const HostSetting& setting : settings) {
    std::erase_if(files, [&](const FileWord& word) {
      return key_of(word.word) == setting.key || (setting.key == "via" && word.word == "--no-ssh-data");
    });
  }
  for (const FileWord& word : files) words.push_back(word.word);
  for (const HostSetting& setting : settings) words.push_back(setting.word());
  return words;
}

bool is_for_agent(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--agent") == 0; });
}

}  // namespace

SettledWords::SettledWords(int argc, const char* const* argv, std::vector<std::string> settings)
    : settings_(std::move(settings)) {
  if (argc > 0) pointers_.push_back(argv[0]);
  for (const std::string& word : settings_) pointers_.push_back(word.c_str());
  for (int i = 1; i < argc; ++i) pointers_.push_back(argv[i]);
}

Result<std::vector<std::string>> read_settings(std::string_view text, std::string_view name) {
  std::vector<std::string> words;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto word = word_of(line, std::string(name) + " line " + std::to_string(number) + ":");
    if (!word) return word.error();
    words.push_back(std::move(*word));
  }
  return words;
}

Result<SettledWords> with_settings(int argc, const char* const* argv) {
  if (is_for_agent(argc, argv)) return SettledWords(argc, argv, {});
  auto files = file_words(Given(argc, argv));
  if (!files) return files.error();
  return SettledWords(argc, argv, words_of(*files, {}));
}

Parsed parse_with_settings(int argc, const char* const* argv, const Begin& begin) {
  if (is_for_agent(argc, argv)) return parse_options(argc, argv);
  const Given given(argc, argv);
  auto files = file_words(given);
  if (!files) return refused(argc, argv, files.error());
  Parsed bare = parse_options(argc, argv);  // to know the hosts
  if (bare.exit_status) return bare;
  if (auto begun = begin(bare.options); !begun) return refused(argc, argv, begun.error());
  const std::vector<Location*> hosts = hosts_of(bare.options);
  const auto configs = hosts.empty() ? Result<Configs>(Configs()) : read_configs();
  if (!configs) return refused(argc, argv, configs.error());
  auto settings = common_settings(*configs, hosts, given, bare.options.rsh_given);
  if (!settings) return refused(argc, argv, settings.error());

  const SettledWords words(argc, argv, words_of(*files, *settings));
  Parsed parsed = parse_options(words.argc(), words.argv());
  parsed.options.destination = std::move(bare.options.destination);
  parsed.options.further_destinations = std::move(bare.options.further_destinations);
  for (Location* host : hosts_of(parsed.options)) {
    if (auto checked = check_reachable(parsed.options.shell, *host); !checked)
      return refused(argc, argv, checked.error());
    const auto path = find(*configs, "rdcp-path", host->host);
    if (!path || given.has("rdcp-path")) continue;
    host->rdcp_path = path->value;
    if (parsed.options.print_config) settings->push_back(*path);
  }
  if (!parsed.exit_status && parsed.options.print_config) {
    parsed.exit_status = kExitOk;
    parsed.text_out = print_settings(given, *settings, *files);
  }
  return parsed;
}

}  // namespace rdcp::cli
