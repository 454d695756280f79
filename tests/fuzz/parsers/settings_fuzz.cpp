// Whatever stands in a file of settings: what is taken has only options that such files may set, and each
// comes from a line that the file has.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "cli/settings/host_config.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {

void fuzz_settings(Bytes input) {
  Choices choices(input);
  const std::string host(choices.piece());
  const std::string_view text = choices.rest();
  const auto config = cli::HostConfig::parse(text, "config");
  if (!config) {
    require(config.error().kind == io::ErrorKind::usage);
    require(config.error().message().find("config") != std::string::npos);
    return;
  }
  const auto lines = std::ranges::count(text, '\n') + 1;
  for (const std::string_view key : cli::host_setting_keys()) {
    const auto found = config->find(key, host);
    if (!found) continue;
    require(found->key == key && found->word().starts_with("--"));
    require(found->word().find('\n') == std::string::npos);
    require(found->where.starts_with("config:"));
    const long line = std::atol(found->where.c_str() + found->where.find(':') + 1);
    require(line >= 1 && line <= lines);
  }
}

}  // namespace rdcp::fuzz
