#include "cli/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/help_text.h"
#include "cli/size.h"
#include "cli/split_words.h"
#include "cli/version.h"
#include "io/arena.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using io::Result;
using std::string;
using std::string_view;

io::Error refuse(string_view what, string_view why) {
  return plain_error(ErrorKind::usage, what, "", why);
}

// Hands a parsed value on to where it belongs.
template <class To, class From>
Result<void> assign(To& to, Result<From> from) {
  if (!from) return from.error();
  to = static_cast<To>(std::move(from).value());
  return {};
}

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

// TCP_CA_NAME_MAX of linux/tcp.h is 16 with the terminating NUL; setsockopt(2) would cut a longer name short.
Result<string> parse_congestion(const string& word) {
  if (word.size() < 16) return word;
  return plain_error(ErrorKind::usage, "--congestion", word, "no congestion control has so long a name");
}

void add_copy_options(CommandLine& line, Options& options) {
  line.flag("-r,--recursive", [&] { options.recursive = true; });
  line.flag("-p,--preserve", [&] { options.preserve = true; });
  line.flag("--no-owner", [&] { options.owner = false; });
  line.flag("--no-xattrs", [&] { options.xattrs = false; });
  line.flag("--numeric-ids", [&] { options.numeric_ids = true; });
  line.flag("-v,--verbose", [&] { options.verbose = true; });
  line.flag("-q,--quiet", [&] { options.quiet = true; });
  line.flag("--progress", [&] { options.progress = true; });
  line.flag("--doctor", [&] { options.doctor = true; });
  line.flag("--json", [&] { options.json = true; });
  line.flag("--agent", [&] { options.agent = true; });
}

void add_host_options(CommandLine& line, Options& options) {
  const auto keep = [](string& to) {
    return [&to](const string& word) { return assign(to, Result<string>(word)); };
  };
  const auto append = [](std::vector<string>& to) {
    return [&to](const string& word) {
      to.push_back(word);
      return Result<void>();
    };
  };
  line.value("-e,--rsh", [&](const string& word) { return assign(options.rsh, split_words("--rsh", word)); });
  line.value("-P,--port", [&](const string& word) {
    return assign(options.ssh_port, parse_count("--port", word, 1, 65535));
  });
  line.values("-i,--identity", append(options.identity_files));
  line.value("-F,--ssh-config", keep(options.ssh_config));
  line.values("-o,--ssh-option", append(options.ssh_options));
  line.value("--rdcp-path", keep(options.rdcp_path));
  line.value("--via", keep(options.via));
}

void add_data_options(CommandLine& line, Options& options) {
  using io::CacheMode;
  using io::RingChoice;
  line.value("--streams", [&](const string& word) {
    return assign(options.streams, parse_count("--streams", word, 1, kStreamsMax));
  });
  line.value("--chunk-size",
             [&](const string& word) { return assign(options.chunk_bytes, parse_chunk_size(word)); });
  line.value("--transport",
             [&](const string& word) { return assign(options.transport, parse_transport(word)); });
  line.value("--bwlimit",
             [&](const string& word) { return assign(options.bwlimit, parse_size("--bwlimit", word)); });
  line.value("--congestion",
             [&](const string& word) { return assign(options.congestion, parse_congestion(word)); });
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

bool is_standard_stream(const Location& location) {
  return location.kind == Location::Kind::standard_stream;
}

// Options that contradict each other: refused, because whichever one won, someone would have meant the other.
Result<void> check_together(const Options& options) {
  if (options.quiet && options.verbose) return refuse("-q", "contradicts -v");
  if (options.quiet && options.progress) return refuse("-q", "contradicts --progress");
  if (options.json && !options.doctor) return refuse("--json", "goes with --doctor only");
  const bool for_ssh = options.ssh_port != 0 || !options.identity_files.empty() ||
                       !options.ssh_config.empty() || !options.ssh_options.empty();
  if (for_ssh && !runs_ssh(options)) {
    return refuse("-P, -i, -F, -o", "they are ssh's; put what another command needs into --rsh");
  }
  return {};
}

Result<void> check_transport(const Options& options) {
  const bool network = is_remote(options.destination) || std::ranges::any_of(options.sources, is_remote);
  if (options.transport != tree::Transport::rdma || network) return {};
  return refuse("--transport rdma", "SRC and DST are both on this host, so nothing goes over a network");
}

Result<void> check_streams(const Options& options) {
  const bool from_stdin = std::any_of(options.sources.begin(), options.sources.end(), is_standard_stream);
  const bool to_stdout = is_standard_stream(options.destination);
  if (!from_stdin && !to_stdout) return {};
  if (from_stdin && to_stdout) return refuse("'-'", "cannot be both SRC and DST");
  if (options.sources.size() > 1) return refuse("'-'", "is one file, so there can be one SRC only");
  if (options.recursive) return refuse("'-'", "is one file, no tree for -r");
  return {};
}

// HOST, USER@HOST or [IPV6], with or without the colon of a location.
Result<Location> parse_host(const string& word) {
  auto location = parse_location(word.ends_with(':') ? word : word + ":");
  if (!location) return location;
  const bool is_host = is_remote(*location) && location->path == ".";
  if (is_host) return location;
  return plain_error(ErrorKind::usage, "--doctor", word, "is no host; write HOST, USER@HOST or [IPV6]");
}

Result<void> take_doctor_operands(const std::vector<string>& words, Options& options) {
  if (options.agent) return refuse("--doctor", "contradicts --agent");
  if (words.empty()) return {};
  if (words.size() > 1) return refuse("--doctor", "takes one HOST at most");
  return assign(options.doctor_host, parse_host(words.front()));
}

Result<void> take_operands(const std::vector<string>& words, Options& options) {
  if (options.doctor) return take_doctor_operands(words, options);
  if (options.agent) {
    if (words.empty()) return {};
    return refuse("--agent", "takes no SRC and DST");
  }
  if (words.empty()) return refuse("command line", "SRC and DST are missing");
  if (words.size() == 1) return refuse("command line", "DST is missing");
  for (const string& word : words) {
    Result<Location> location = parse_location(word);
    if (!location) return location.error();
    options.sources.push_back(std::move(location).value());
  }
  options.destination = std::move(options.sources.back());
  options.sources.pop_back();
  if (auto checked = check_transport(options); !checked) return checked;
  return check_streams(options);
}

Result<void> read_command_line(CommandLine& line, int argc, const char* const* argv, Options& options) {
  if (auto parsed = line.parse(argc, argv); !parsed) return parsed;
  if (auto checked = check_together(options); !checked) return checked;
  auto words = line.operands();
  if (!words) return words.error();
  return take_operands(*words, options);
}

}  // namespace

bool runs_ssh(const Options& options) {
  const string& program = options.rsh.front();
  return string_view(program).substr(program.rfind('/') + 1) == "ssh";
}

Parsed parse_options(int argc, const char* const* argv) {
  Parsed parsed;
  CommandLine line;
  bool help = false;
  bool version = false;
  line.flag("-h,--help", [&] { help = true; });
  line.flag("--version", [&] { version = true; });
  add_copy_options(line, parsed.options);
  add_host_options(line, parsed.options);
  add_data_options(line, parsed.options);

  const Result<void> read = read_command_line(line, argc, argv, parsed.options);
  if (help || version) {
    parsed.exit_status = kExitOk;
    parsed.text_out = help ? string(kHelpText) : fmt::format("rdcp {}\n", kVersion);
  } else if (!read) {
    parsed.exit_status = kExitUsage;
    parsed.text_err = fmt::format("rdcp: {}\ntry 'rdcp --help'\n", read.error().message());
  }
  return parsed;
}

}  // namespace rdcp::cli
