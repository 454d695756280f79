// Whatever word stands on the command line as SRC or DST: a location that is taken has a host and a user that
// neither ssh nor a shell can take for something else, a path that leaves nothing to guess, and is read again
// as the same one where it is written out.
#include <algorithm>

#include "cli/places/location.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {
namespace {

using cli::Location;

bool is_harmless(std::string_view name) {
  const auto bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f ||
           std::string_view("'`\"$\\;&<>|(){}").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.front() != '-' && std::ranges::none_of(name, bad);
}

}  // namespace

void fuzz_location(Bytes input) {
  const std::string_view word = text_of(input);
  const auto location = cli::parse_location(word);
  if (!location) {
    require(location.error().kind == io::ErrorKind::usage && !location.error().message().empty());
    return;
  }
  require(!location->path.empty() || location->kind == Location::Kind::standard_stream);
  const bool remote = location->kind == Location::Kind::remote;
  require(remote ? is_harmless(location->host) : location->host.empty() && location->user.empty());
  require(location->user.empty() || is_harmless(location->user));
  require(!remote || !location->path.starts_with('~'));
  require(!remote || location->ssh_destination().front() != '-');
  const auto again = cli::parse_location(location->text());
  require(again.ok() && *again == *location);
}

}  // namespace rdcp::fuzz
