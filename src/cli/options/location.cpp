#include "cli/options/location.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace rdcp::cli {
namespace {

io::Error refuse_location(std::string_view word, std::string_view why) {
  return io::plain_error(io::ErrorKind::usage, "location", word, why);
}

// Returns the position of the colon that ends the host. Colons between brackets belong to an IPv6 address, if
// the brackets stand before the first colon: what follows that may be a path.
std::optional<std::size_t> host_end(std::string_view word) {
  const std::size_t slash = word.find('/');
  const std::string_view head = word.substr(0, slash);
  const std::size_t colon = head.find(':');
  const bool bracketed = head.starts_with('[') || head.substr(0, colon).find("@[") != head.npos;
  if (bracketed) {
    const std::size_t close = head.find("]:");
    return close == head.npos ? std::nullopt : std::optional(close + 1);
  }
  return colon == head.npos ? std::nullopt : std::optional(colon);
}

bool is_blank_or_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte == 0x7f;
}

// ssh_config can hand host and user to a shell (ProxyCommand %h %r), which is what CVE-2023-51385 was about;
// newer versions of ssh refuse the same characters, older ones do not.
bool is_shell_character(char c) {
  return std::string_view("'`\"$\\;&<>|(){}").find(c) != std::string_view::npos;
}

std::optional<std::string_view> fault_of_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.front() == '-') return "begins with a dash";
  if (std::any_of(name.begin(), name.end(), is_blank_or_control)) return "holds a blank or control character";
  if (std::any_of(name.begin(), name.end(), is_shell_character)) return "holds a shell character";
  if (name.find_first_of("[]") != name.npos) return "holds a bracket";
  return std::nullopt;
}

// The agent starts in the home directory and no shell sees the path, so the tilde is resolved here, by
// leaving it out.
io::Result<std::string> remote_path(std::string_view word, std::string_view path) {
  if (path.empty() || path == "~") return std::string(".");
  if (!path.starts_with('~')) return std::string(path);
  if (!path.starts_with("~/")) {
    return refuse_location(
        word, "another user's home must be written as a full path (./~NAME is a file of that name)");
  }
  const std::size_t rest = path.find_first_not_of('/', 1);
  if (rest == path.npos) return std::string("./");
  const std::string below(path.substr(rest));
  return below.starts_with('~') ? "./" + below : below;  // a name, and not another home
}

// Splits USER@HOST at the last '@': ssh does so, for users whose names are mail addresses.
io::Result<Location> parse_remote(std::string_view word, std::size_t end) {
  Location location{.kind = Location::Kind::remote, .user = {}, .host = {}, .path = {}};
  std::string_view host = word.substr(0, end);
  if (const std::size_t at = host.rfind('@'); at != host.npos) {
    const std::string_view user = host.substr(0, at);
    if (const auto fault = fault_of_name(user))
      return refuse_location(word, "the user " + std::string(*fault));
    location.user = user;
    host.remove_prefix(at + 1);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (const auto fault = fault_of_name(host)) {
    return refuse_location(
        word, "the host before ':' " + std::string(*fault) + " (a local name is written ./NAME)");
  }
  location.host = host;

  io::Result<std::string> path = remote_path(word, word.substr(end + 1));
  if (!path) return path.error();
  location.path = std::move(path).value();
  return location;
}

}  // namespace

std::string Location::text() const {
  if (kind == Kind::standard_stream) return "-";
  if (kind == Kind::local) return path;
  const std::string shown_host = host.find(':') == host.npos ? host : "[" + host + "]";
  return (user.empty() ? "" : user + "@") + shown_host + ":" + path;
}

std::string Location::ssh_destination() const {
  return user.empty() ? host : user + "@" + host;
}

io::Result<Location> parse_location(std::string_view word) {
  if (word.empty()) return refuse_location("''", "is empty");
  if (word == "-")
    return Location{.kind = Location::Kind::standard_stream, .user = {}, .host = {}, .path = {}};
  if (const auto end = host_end(word)) return parse_remote(word, *end);
  return Location{.kind = Location::Kind::local, .user = {}, .host = {}, .path = std::string(word)};
}

}  // namespace rdcp::cli
