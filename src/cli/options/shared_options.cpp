#include "cli/options/shared_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>

#include "cli/text/exit_status.h"
#include "cli/text/size.h"
#include "cli/text/split_words.h"
#include "cli/text/version.h"
#include "io/arena.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using std::string;
using std::string_view;

namespace {

template <class T>
Result<T> parse_choice(string_view option, string_view word,
                       std::initializer_list<std::pair<string_view, T>> choices) {
  string names;
  for (const auto& [name, choice] : choices) {
    if (name == word) return choice;
    names += (names.empty() ? "" : ", ") + string(name);
  }
  return plain_error(ErrorKind::usage, option, word, "must be one of " + names);
}

Result<tree::Transport> parse_transport(const string& word) {
  using tree::Transport;
  return parse_choice<Transport>(
      "--transport", word,
      {{"auto", Transport::automatic}, {"tcp", Transport::tcp}, {"rdma", Transport::rdma}});
}

Result<std::uint64_t> parse_chunk_size(const string& word) {
  auto bytes = parse_size("--chunk-size", word);
  if (!bytes) return bytes;
  if (*bytes < kChunkBytesMin || *bytes > kChunkBytesMax) {
    return plain_error(ErrorKind::usage, "--chunk-size", word, "must be from 64K to 16M");
  }
  if (*bytes % io::kPageBytes != 0) {
    return plain_error(ErrorKind::usage, "--chunk-size", word, "must be a multiple of 4K");
  }
  return bytes;
}

Result<net::Compression> parse_compression(const string& word) {
  if (word == "auto") return net::kCompressAuto;
  if (word == "off") return net::kCompressOff;
  const auto level = parse_count("--compress", word, 1, net::kCompressLevelMax);
  if (level) return static_cast<net::Compression>(*level);
  return plain_error(ErrorKind::usage, "--compress", word, "must be auto, off or a level from 1 to 19");
}

// TCP_CA_NAME_MAX of linux/tcp.h is 16 with the terminating NUL; setsockopt(2) would cut a longer name short.
Result<string> parse_congestion(const string& word) {
  if (word.size() < 16) return word;
  return plain_error(ErrorKind::usage, "--congestion", word, "the name is too long for a congestion control");
}

constexpr unsigned kEcnBits = 2;

struct TrafficClassName {
  string_view name;
  std::uint8_t byte;
};
constexpr TrafficClassName of_dscp(string_view name, unsigned dscp) {
  return {name, static_cast<std::uint8_t>(dscp << kEcnBits)};
}
// The last three are the types of service of RFC 1349, which DSCPs have replaced.
constexpr std::array kTrafficClasses = {of_dscp("cs0", 0),
                                        of_dscp("cs1", 8),
                                        of_dscp("cs2", 16),
                                        of_dscp("cs3", 24),
                                        of_dscp("cs4", 32),
                                        of_dscp("cs5", 40),
                                        of_dscp("cs6", 48),
                                        of_dscp("cs7", 56),
                                        of_dscp("af11", 10),
                                        of_dscp("af12", 12),
                                        of_dscp("af13", 14),
                                        of_dscp("af21", 18),
                                        of_dscp("af22", 20),
                                        of_dscp("af23", 22),
                                        of_dscp("af31", 26),
                                        of_dscp("af32", 28),
                                        of_dscp("af33", 30),
                                        of_dscp("af41", 34),
                                        of_dscp("af42", 36),
                                        of_dscp("af43", 38),
                                        of_dscp("ef", 46),
                                        of_dscp("le", 1),
                                        of_dscp("va", 44),
                                        TrafficClassName{"lowdelay", 0x10},
                                        TrafficClassName{"throughput", 0x08},
                                        TrafficClassName{"reliability", 0x04}};

string in_lower_case(string_view word) {
  string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Returns the number from 0 to 255 that the word is, or nothing.
std::optional<std::uint8_t> byte_of(string_view word) {
  const bool hexadecimal = word.starts_with("0x");
  if (hexadecimal) word.remove_prefix(2);
  std::uint8_t number = 0;
  const auto [end, failure] =
      std::from_chars(word.data(), word.data() + word.size(), number, hexadecimal ? 16 : 10);
  const bool whole = failure == std::errc() && end == word.data() + word.size();
  return whole ? std::optional(number) : std::nullopt;
}

string classes_there_are() {
  string text = "must be a number from 0 to 255 (0x00 to 0xff), none, or one of ";
  for (const TrafficClassName& known : kTrafficClasses) {
    if (&known != kTrafficClasses.data()) text += ", ";
    text += known.name;
  }
  return text;
}

constexpr unsigned kDataPortsMax = 1000;  // each is a rule for the kernel (tree/sandbox)

Result<void> take_data_ports(const string& word, Options& options) {
  const std::size_t dash = word.find('-');
  const auto first = parse_count("--data-port", word.substr(0, dash), 1, 65535);
  if (!first) return first.error();
  const auto last = dash == word.npos ? first : parse_count("--data-port", word.substr(dash + 1), 1, 65535);
  if (!last) return last.error();
  if (*last < *first || *last - *first >= kDataPortsMax) {
    return plain_error(ErrorKind::usage, "--data-port", word,
                       "must be PORT or FIRST-LAST, at most 1000 ports");
  }
  options.data_port = static_cast<std::uint16_t>(*first);
  options.data_port_last = static_cast<std::uint16_t>(*last);
  return {};
}

}  // namespace

Result<std::optional<std::uint8_t>> parse_traffic_class(string_view word) {
  const string name = in_lower_case(word);
  if (name == "none") return std::optional<std::uint8_t>();
  const auto known = std::ranges::find(kTrafficClasses, name, &TrafficClassName::name);
  if (known != kTrafficClasses.end()) return std::optional(known->byte);
  if (const auto number = byte_of(name)) return number;
  return plain_error(ErrorKind::usage, "--tos", word, classes_there_are());
}

string describe_traffic_class(std::uint8_t traffic_class) {
  const unsigned dscp = traffic_class >> kEcnBits;
  const auto has_it = [&](const TrafficClassName& known) { return known.byte >> kEcnBits == dscp; };
  const auto known = std::ranges::find_if(kTrafficClasses, has_it);
  const string name = known == kTrafficClasses.end() ? "" : fmt::format(", {}", known->name);
  return fmt::format("traffic class {} (DSCP {}{})", traffic_class, dscp, name);
}

io::Error refuse(string_view what, string_view why) {
  return plain_error(ErrorKind::usage, what, "", why);
}

CommandLine::Take keep(string& to) {
  return [&to](const string& word) { return assign(to, Result<string>(word)); };
}

void add_help_options(CommandLine& line, HelpFlags& asked) {
  line.flag("-h,--help", [&] { asked.help = true; });
  line.flag("--version", [&] { asked.version = true; });
}

void ParseOutcome::take(const HelpFlags& asked, const Result<void>& read, string_view program,
                        const char* help_text) {
  if (asked.help || asked.version) {
    exit_status = kExitOk;
    text_out = asked.help ? string(help_text) : version_text(program);
  } else if (!read) {
    exit_status = kExitUsage;
    text_err = fmt::format("{0}: {1}\ntry '{0} --help'\n", program, read.error().message());
  }
}

void add_tell_options(CommandLine& line, Options& options) {
  line.flag("-v,--verbose", [&] { options.verbose = true; });
  line.flag("-q,--quiet", [&] { options.quiet = true; });
}

void add_progress_option(CommandLine& line, Options& options) {
  line.flag("--progress", [&] { options.progress = true; });
}

Result<void> check_tell_options(const Options& options) {
  if (options.quiet && options.verbose) return refuse("-q", "cannot be used with -v");
  if (options.quiet && options.progress) return refuse("-q", "cannot be used with --progress");
  return {};
}

void add_host_options(CommandLine& line, Options& options, const char* identity_names) {
  const auto append = [](std::vector<string>& to) {
    return [&to](const string& word) {
      to.push_back(word);
      return Result<void>();
    };
  };
  line.value("-e,--rsh", [&](const string& word) {
    options.rsh_given = true;
    return assign(options.shell.rsh, split_words("--rsh", word));
  });
  line.values(identity_names, append(options.shell.identity_files));
  line.value("-F,--ssh-config", keep(options.shell.ssh_config));
  line.values("-o,--ssh-option", append(options.shell.ssh_options));
  line.value("--rdcp-path", keep(options.shell.rdcp_path));
  line.flag(kNoDeploy, [&] { options.shell.deploy = false; });
}

Result<void> check_host_options(Options& options) {
  if (options.ipv4 && options.ipv6) return refuse("-4 and -6", "leave no address; write one of them");
  if (options.ipv4) options.shell.ssh_options.emplace_back("AddressFamily=inet");
  if (options.ipv6) options.shell.ssh_options.emplace_back("AddressFamily=inet6");
  const bool for_ssh = options.shell.ssh_port != 0 || !options.shell.identity_files.empty() ||
                       !options.shell.ssh_config.empty() || !options.shell.ssh_options.empty();
  if (for_ssh && !runs_ssh(options.shell)) {
    return refuse("-P, -i, -F, -o, -4, -6",
                  "these are options of ssh; write options of another command into --rsh or --launcher");
  }
  return {};
}

void add_volume_options(CommandLine& line, Options& options) {
  line.value("--streams", [&](const string& word) {
    return assign(options.streams, parse_count("--streams", word, 1, kStreamsMax));
  });
  line.value("--chunk-size",
             [&](const string& word) { return assign(options.chunk_bytes, parse_chunk_size(word)); });
  line.value("--bwlimit", [&](const string& word) {
    const bool bare = word.find_first_not_of("0123456789") == word.npos && word != "0";
    options.bwlimit_warning =
        bare ? fmt::format("--bwlimit {0} is {0} bytes per second here, as {0}B is; rsync's would be {0}K",
                           word)
             : "";
    return assign(options.bwlimit, parse_size("--bwlimit", word));
  });
}

void add_way_options(CommandLine& line, Options& options) {
  line.value("--data-port", [&](const string& word) { return take_data_ports(word, options); });
  line.flag("--no-ssh-data", [&] { options.ssh_data = Options::SshData::never; });
}

Result<void> check_way_options(const Options& options) {
  if (options.via != kViaSsh) return {};
  if (options.ssh_data == Options::SshData::never)
    return refuse("--via ssh", "cannot be used with --no-ssh-data");
  if (options.transport == tree::Transport::rdma)
    return refuse("--via ssh", "cannot be used with --transport rdma");
  return {};
}

void add_encrypt_options(CommandLine& line, Options& options) {
  using net::Sealing;
  line.optional_value("--encrypt", "always", [&](const string& word) {
    return assign(
        options.encrypt,
        parse_choice<Sealing>("--encrypt", word, {{"auto", Sealing::rather}, {"always", Sealing::always}}));
  });
  line.flag("--no-encrypt", [&] { options.encrypt = Sealing::never; });
}

void add_compress_option(CommandLine& line, Options& options) {
  line.optional_value("--compress", "1",
                      [&](const string& word) { return assign(options.compress, parse_compression(word)); });
}

void add_path_options(CommandLine& line, Options& options) {
  using io::CacheMode;
  using io::RingChoice;
  line.flag(kNoLandlock, [&] { options.shell.landlock = false; });
  line.flag("--no-numa", [&] { options.numa = false; });
  line.flag("--numa", [&] { options.numa = true; });
  line.value("--transport",
             [&](const string& word) { return assign(options.transport, parse_transport(word)); });
  line.value("--via", keep(options.via));
  line.value("--congestion",
             [&](const string& word) { return assign(options.congestion, parse_congestion(word)); });
  line.value("--tos",
             [&](const string& word) { return assign(options.traffic_class, parse_traffic_class(word)); });
  line.value("--cache", [&](const string& word) {
    return assign(options.cache, parse_choice<CacheMode>("--cache", word,
                                                         {{"auto", CacheMode::automatic},
                                                          {"keep", CacheMode::keep},
                                                          {"bypass", CacheMode::bypass}}));
  });
  line.value("--ring", [&](const string& word) {
    return assign(options.ring, parse_choice<RingChoice>("--ring", word,
                                                         {{"auto", RingChoice::automatic},
                                                          {"io_uring", RingChoice::io_uring},
                                                          {"threads", RingChoice::thread_pool}}));
  });
}

}  // namespace rdcp::cli
