#include "cli/places/location.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>

#include "io/named_place.h"

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
  if (io::own_descriptor(path)) {
    return refuse_location(
        word,
        "a stream of rdcp itself on that host, through which it talks to this one; name a file "
        "or a FIFO there, or have rdpipe start a command");
  }
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

// Sets user and host, or refuses the word. before: what ends the host, for the message.
io::Result<void> set_host(std::string_view word, std::string_view host, std::string_view before,
                          Location& location) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (const auto fault = fault_of_name(host))
    return refuse_location(word, fmt::format("the host before {} {}", before, *fault));
  location.host = host;
  return {};
}

io::Result<void> set_user(std::string_view word, std::string_view user, Location& location) {
  if (const auto fault = fault_of_name(user)) return refuse_location(word, "the user " + std::string(*fault));
  location.user = user;
  return {};
}

// Splits USER@HOST at the last '@': ssh does so, for users whose names are mail addresses.
io::Result<Location> parse_remote(std::string_view word, std::size_t end) {
  Location location{.kind = Location::Kind::remote, .user = {}, .host = {}, .path = {}};
  std::string_view host = word.substr(0, end);
  if (const std::size_t at = host.rfind('@'); at != host.npos) {
    if (auto set = set_user(word, host.substr(0, at), location); !set) return set.error();
    host.remove_prefix(at + 1);
  }
  if (auto set = set_host(word, host, "':'", location); !set) {
    return refuse_location(word, set.error().detail + " (a local name is written ./NAME)");
  }
  io::Result<std::string> path = remote_path(word, word.substr(end + 1));
  if (!path) return path.error();
  location.path = std::move(path).value();
  return location;
}

constexpr std::array<std::string_view, 2> kOurSchemes{"ssh", "scp"};
constexpr std::array<std::string_view, 9> kOtherSchemes{"rsync", "sftp", "ftp", "ftps", "http",
                                                        "https", "file", "smb", "s3"};

// Returns the scheme of SCHEME://... if it is one of `schemes`, else nothing.
template <std::size_t N>
std::optional<std::string_view> scheme_of(std::string_view word,
                                          const std::array<std::string_view, N>& schemes) {
  const std::string_view scheme = word.substr(0, std::min(word.find("://"), word.size()));
  if (scheme.size() == word.size() || std::ranges::find(schemes, scheme) == schemes.end()) return {};
  return scheme;
}

// Decodes %XX and, as scp(1) does, '+' for a blank.
io::Result<std::string> decoded(std::string_view word, std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2)
      return refuse_location(word, "'%' must be followed by two hexadecimal digits (%25 is '%' itself)");
    if (value == 0) return refuse_location(word, "%00 cannot be part of a name");
    bytes += static_cast<char>(value);
    i += 2;
  }
  return bytes;
}

io::Result<std::uint16_t> port_of(std::string_view word, std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && port != 0) return port;
  return refuse_location(word, "the port after ':' must be a number from 1 to 65535");
}

// Parses [USER@]HOST[:PORT], which stands between the slashes.
io::Result<Location> parse_authority(std::string_view word, std::string_view text) {
  Location location{.kind = Location::Kind::remote, .user = {}, .host = {}, .path = {}};
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    const auto user = decoded(word, text.substr(0, std::min(at, text.find(';'))));
    if (!user) return user.error();
    if (auto set = set_user(word, *user, location); !set) return set.error();
    text.remove_prefix(at + 1);
  }
  const std::size_t colon = text.find(':', text.starts_with('[') ? std::min(text.find(']'), text.size()) : 0);
  if (colon != text.npos) {
    const auto port = port_of(word, text.substr(colon + 1));
    if (!port) return port.error();
    location.port = *port;
  }
  if (auto set = set_host(word, text.substr(0, colon), "the path", location); !set) return set.error();
  return location;
}

// Parses what follows ssh:// or scp://.
io::Result<Location> parse_uri(std::string_view word, std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  auto location = parse_authority(word, rest.substr(0, slash));
  if (!location) return location;
  auto path = decoded(word, rest.substr(std::min(slash + 1, rest.size())));
  if (path) path = remote_path(word, *path);
  if (!path) return path.error();
  location->path = std::move(*path);
  return location;
}

// Returns the text in which parse_uri() finds the same bytes.
std::string encoded(std::string_view bytes) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/,:=@";
  std::string text;
  for (const char c : bytes) {
    if (kPlain.find(c) != kPlain.npos)
      text += c;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

}  // namespace

std::string Location::text() const {
  if (kind == Kind::standard_stream) return path.empty() ? "-" : path;
  if (kind == Kind::local) return path;
  // A host that is called like a scheme, with a path that begins with two slashes, would be taken for a URI.
  const std::string as_word = host + ":" + path;
  const bool like_uri =
      user.empty() && (scheme_of(as_word, kOurSchemes) || scheme_of(as_word, kOtherSchemes));
  const bool in_brackets = like_uri || host.find(':') != host.npos;
  const std::string shown_host = in_brackets ? "[" + host + "]" : host;
  if (port == 0) return (user.empty() ? "" : user + "@") + shown_host + ":" + path;
  return fmt::format("scp://{}{}:{}/{}", user.empty() ? "" : encoded(user) + "@", shown_host, port,
                     encoded(path));
}

std::string Location::ssh_destination() const {
  return user.empty() ? host : user + "@" + host;
}

bool is_same_host(const Location& a, const Location& b) {
  return a.kind == b.kind && a.user == b.user && a.host == b.host && a.port == b.port;
}

io::Result<Location> parse_location(std::string_view word) {
  if (word.empty()) return refuse_location("''", "is empty");
  if (word == "-")
    return Location{.kind = Location::Kind::standard_stream, .user = {}, .host = {}, .path = {}};
  if (io::own_descriptor(word))
    return Location{
        .kind = Location::Kind::standard_stream, .user = {}, .host = {}, .path = std::string(word)};
  if (const auto ours = scheme_of(word, kOurSchemes)) return parse_uri(word, word.substr(ours->size() + 3));
  if (const auto other = scheme_of(word, kOtherSchemes)) {
    return refuse_location(word, fmt::format("rdcp knows no {}://; write HOST:PATH, or scp://HOST/PATH{}",
                                             *other, *other == "file" ? ", and PATH for a local file" : ""));
  }
  if (const auto end = host_end(word)) return parse_remote(word, *end);
  return Location{.kind = Location::Kind::local, .user = {}, .host = {}, .path = std::string(word)};
}

}  // namespace rdcp::cli
