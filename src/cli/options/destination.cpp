#include "cli/options/destination.h"

#include <utility>

#include "cli/options/shared_options.h"
#include "cli/places/host_list.h"

namespace rdcp::cli {

using io::Result;

namespace {

// Stands for the hosts of --hosts until they are known.
constexpr const char* kUnknownHost = "hosts";

void set_targets(std::vector<Location> targets, Options& options) {
  options.destination = std::move(targets.front());
  targets.erase(targets.begin());
  options.further_destinations = std::move(targets);
}

}  // namespace

// A range may have a slash ("[0-8/4]"), so brackets are skipped; a slash elsewhere ends what can be a host.
std::string_view host_list_of(std::string_view word) {
  bool in_brackets = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '[') in_brackets = true;
    if (word[i] == ']') in_brackets = false;
    if (word[i] == '/' && !in_brackets) return {};
    if (word[i] != ':') continue;
    if (in_brackets) return {};  // an address
    return is_host_list(word.substr(0, i)) ? word.substr(0, i) : std::string_view();
  }
  return {};
}

Result<std::vector<Location>> locations_on(std::string_view list, std::string_view path) {
  const auto hosts = expand_hosts(list);
  if (!hosts) return hosts.error();
  std::vector<Location> locations;
  for (const std::string& host : *hosts) {
    const bool group = host.starts_with('@');
    auto location = parse_location((group ? std::string(kUnknownHost) : host) + ":" + std::string(path));
    if (!location) return std::move(location).error();
    if (group) location->host = host;
    locations.push_back(std::move(*location));
  }
  return locations;
}

Result<void> take_destination(const std::string& word, Options& options) {
  HostWords& words = options.host_words;
  if (!words.from.empty()) {
    if (!word.starts_with(':')) return refuse("--hosts", "names the hosts, so DST is written as :PATH");
    return assign(options.destination, parse_location(kUnknownHost + word));
  }
  words.list = host_list_of(word);
  if (words.list.empty()) return assign(options.destination, parse_location(word));
  auto targets = locations_on(words.list, std::string_view(word).substr(words.list.size() + 1));
  if (!targets) return std::move(targets).error();
  set_targets(std::move(*targets), options);
  return {};
}

std::vector<Location> targets_of(const Options& options) {
  std::vector<Location> all{options.destination};
  all.insert(all.end(), options.further_destinations.begin(), options.further_destinations.end());
  return all;
}

Result<void> check_hosts(const Options& options) {
  const bool copies = !options.check && !options.clean && !options.doctor;
  if (!options.failed_hosts.empty() && (!copies || !options.host_words.any())) {
    return refuse("--failed-hosts", "is for copies to several hosts");
  }
  if (options.fanout != 0 && (!copies || !options.host_words.any()))
    return refuse("--fanout", "is for copies to several hosts");
  if (options.keep_slow_hosts && (!copies || !options.host_words.any())) {
    return refuse("--keep-slow-hosts", "is for copies to several hosts");
  }
  if (!options.host_words.any()) return {};
  const tree::SyncSettings& sync = options.sync;
  if (sync.update || sync.existing || sync.ignore_existing) {
    return refuse(
        "--update, --existing and --ignore-existing",
        "cannot be used with several hosts, of which each may want something else; copy to one at a time");
  }
  if (options.remove_source_files)
    return refuse("--remove-source-files", "cannot be used with several hosts");
  return {};
}

}  // namespace rdcp::cli
