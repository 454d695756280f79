#include "cli/options/settings.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cli/options/known_file.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;

namespace {

constexpr std::size_t kBytesMax = 64 << 10;
constexpr const char* kForAll = "/etc/rdcp/options";
constexpr std::string_view kBlanks = " \t\r";

enum class Value : unsigned char { none, optional, needed };
struct Setting {
  std::string_view option;
  Value value;
};
constexpr std::array kSettings = {
    Setting{"--no-deploy", Value::none},    Setting{"--data-port", Value::needed},
    Setting{"--encrypt", Value::optional},  Setting{"--no-encrypt", Value::none},
    Setting{"--no-ssh-data", Value::none},  Setting{"--compress", Value::optional},
    Setting{"--congestion", Value::needed},
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

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

std::string users_file() {
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder == '/') return std::string(folder) + "/rdcp/options";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.config/rdcp/options" : std::string();
}

// Returns nothing for a file that is not there.
Result<std::string> text_of(const std::string& path) {
  if (path.empty()) return std::string();
  auto text = read_known_file(path, kBytesMax);
  if (!text && (text.error().code == ENOENT || text.error().code == ENOTDIR || text.error().code == EACCES))
    return std::string();
  return text;
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
  std::vector<std::string> words;
  const auto is_agent = [](const char* word) { return std::strcmp(word, "--agent") == 0; };
  if (std::any_of(argv, argv + argc, is_agent)) return SettledWords(argc, argv, {});
  for (const std::string& path : {std::string(kForAll), users_file()}) {
    const auto text = text_of(path);
    if (!text) return text.error();
    auto of_file = read_settings(*text, path);
    if (!of_file) return of_file.error();
    words.insert(words.end(), of_file->begin(), of_file->end());
  }
  return SettledWords(argc, argv, std::move(words));
}

}  // namespace rdcp::cli
