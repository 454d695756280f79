#include "cli/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

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

// Raw words only: CLI11's conversions give "{}", "[a,b]" and an empty "--x=" meanings of their own, and its
// error messages name types instead of what is wanted. It finds options and their words; what they mean is
// said here.
class CommandLine {
 public:
  using Take = std::function<Result<void>(const string& word)>;

  CommandLine() {
    app_.set_help_flag();
    app_.allow_extras();  // operands and unknown options; operands() tells them apart
  }

  void flag(const char* names, std::function<void()> set) {
    flags_.emplace_back(app_.add_flag(names), std::move(set));
  }
  // The last one counts.
  void value(const char* names, const char* shown_as, Take take) {
    add_value(names, shown_as, CLI::MultiOptionPolicy::TakeLast, std::move(take));
  }
  void values(const char* names, const char* shown_as, Take take) {
    add_value(names, shown_as, CLI::MultiOptionPolicy::TakeAll, std::move(take));
  }

  // Sets the flags, then takes the values in the order in which they were added.
  Result<void> parse(int argc, const char* const* argv);
  // What is neither an option nor its value; after parse().
  Result<std::vector<string>> operands() const;

 private:
  Result<void> check_attached_values(int argc, const char* const* argv) const;
  void add_value(const char* names, const char* shown_as, CLI::MultiOptionPolicy policy, Take take) {
    CLI::Option* option = app_.add_option(names)->type_name(shown_as)->multi_option_policy(policy);
    values_.emplace_back(option, std::move(take));
  }

  CLI::App app_;
  std::vector<std::pair<CLI::Option*, std::function<void()>>> flags_;
  std::vector<std::pair<CLI::Option*, Take>> values_;
};

// CLI11 takes "--via= SRC" as "--via SRC", and has words of its own for "--recursive=no".
Result<void> CommandLine::check_attached_values(int argc, const char* const* argv) const {
  for (int i = 1; i < argc && string_view(argv[i]) != "--"; ++i) {
    const string_view word = argv[i];
    const std::size_t sign = word.find('=');
    if (!word.starts_with("--") || sign == word.npos) continue;
    const string name(word.substr(0, sign));
    const auto is_named = [&](const auto& flag) { return flag.first->check_name(name); };
    if (std::any_of(flags_.begin(), flags_.end(), is_named)) return refuse(name, "takes no value");
    if (sign + 1 == word.size()) return refuse(name, "needs a value");
  }
  return {};
}

Result<void> CommandLine::parse(int argc, const char* const* argv) {
  if (auto checked = check_attached_values(argc, argv); !checked) return checked;
  try {
    if (argc > 0) app_.parse(argc, argv);
  } catch (const CLI::Error& error) {
    return refuse("options", error.what());
  }
  for (const auto& [option, set] : flags_) {
    if (option->count() > 0) set();
  }
  for (const auto& [option, take] : values_) {
    const std::vector<string>& words = option->results();
    const bool last_only = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast;
    for (std::size_t i = last_only && !words.empty() ? words.size() - 1 : 0; i < words.size(); ++i) {
      if (words[i].empty()) return refuse(option->get_name(), "needs a value");
      if (auto taken = take(words[i]); !taken) return taken;
    }
  }
  return {};
}

Result<std::vector<string>> CommandLine::operands() const {
  std::vector<string> operands;
  bool options_ended = false;
  for (const string& word : app_.remaining()) {
    if (!options_ended && word == "--") {
      options_ended = true;
    } else if (!options_ended && word.size() > 1 && word.front() == '-') {
      return plain_error(ErrorKind::usage, "unknown option", word,
                         "a file of that name is written ./" + word);
    } else {
      operands.push_back(word);
    }
  }
  return operands;
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

Result<TransportChoice> parse_transport(const string& word) {
  if (word == "rdma") {
    return plain_error(ErrorKind::usage, "--transport", word,
                       "RDMA is not built into this version of rdcp yet");
  }
  return parse_choice<TransportChoice>("--transport", word,
                                       {{"auto", TransportChoice::automatic}, {"tcp", TransportChoice::tcp}});
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
  line.value("-e,--rsh", "CMD",
             [&](const string& word) { return assign(options.rsh, split_words("--rsh", word)); });
  line.value("-P,--port", "PORT", [&](const string& word) {
    return assign(options.ssh_port, parse_count("--port", word, 1, 65535));
  });
  line.values("-i,--identity", "FILE", append(options.identity_files));
  line.value("-F,--ssh-config", "FILE", keep(options.ssh_config));
  line.values("-o,--ssh-option", "OPT", append(options.ssh_options));
  line.value("--rdcp-path", "PATH", keep(options.rdcp_path));
  line.value("--via", "ADDR", keep(options.via));
}

void add_data_options(CommandLine& line, Options& options) {
  using io::CacheMode;
  using io::RingChoice;
  line.value("--streams", "N", [&](const string& word) {
    return assign(options.streams, parse_count("--streams", word, 1, kStreamsMax));
  });
  line.value("--chunk-size", "SIZE",
             [&](const string& word) { return assign(options.chunk_bytes, parse_chunk_size(word)); });
  line.value("--transport", "NAME",
             [&](const string& word) { return assign(options.transport, parse_transport(word)); });
  line.value("--bwlimit", "RATE",
             [&](const string& word) { return assign(options.bwlimit, parse_size("--bwlimit", word)); });
  line.value("--congestion", "NAME",
             [&](const string& word) { return assign(options.congestion, parse_congestion(word)); });
  line.value("--cache", "MODE", [&](const string& word) {
    return assign(options.cache, parse_choice<CacheMode>("--cache", word,
                                                         {{"auto", CacheMode::automatic},
                                                          {"keep", CacheMode::keep},
                                                          {"bypass", CacheMode::bypass}}));
  });
  line.value("--ring", "NAME", [&](const string& word) {
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
  const bool for_ssh = options.ssh_port != 0 || !options.identity_files.empty() ||
                       !options.ssh_config.empty() || !options.ssh_options.empty();
  if (for_ssh && !runs_ssh(options)) {
    return refuse("-P, -i, -F, -o", "they are ssh's; put what another command needs into --rsh");
  }
  return {};
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

Result<void> take_operands(const std::vector<string>& words, Options& options) {
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
