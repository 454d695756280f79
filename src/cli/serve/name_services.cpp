#include "cli/serve/name_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

namespace rdcp::cli {
namespace {

constexpr std::string_view kAsked[] = {"files", "compat", "systemd"};

// Adds the services of a line such as "passwd: files [NOTFOUND=continue] sss # ours".
void add_services(const std::string& line, std::vector<std::string>& services) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string database, word;
  words >> database;
  if (database != "passwd:" && database != "group:") return;
  bool in_action = false;
  while (words >> word) {
    const bool service = !in_action && !word.starts_with('[');
    in_action = !service && !word.ends_with(']');
    if (service && std::ranges::find(kAsked, word) == std::end(kAsked) &&
        std::ranges::find(services, word) == services.end())
      services.push_back(word);
  }
}

}  // namespace

std::string unasked_name_services(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> services;
  for (std::string line; std::getline(file, line);) add_services(line, services);
  if (services.empty()) return {};
  return fmt::format(
      "users and groups are those of /etc/passwd and /etc/group there: a static rdcp does not ask {}",
      fmt::join(services, ", "));
}

}  // namespace rdcp::cli
