#include "cli/options/options.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "cli/options/alterations.h"
#include "cli/options/command_line.h"
#include "cli/options/destination.h"
#include "cli/options/habits.h"
#include "cli/options/help_text.h"
#include "cli/options/selection.h"
#include "cli/options/shared_options.h"
#include "cli/options/sync_options.h"
#include "cli/options/target_options.h"
#include "cli/text/exit_status.h"
#include "cli/text/json_report.h"
#include "cli/text/process.h"
#include "cli/text/size.h"
#include "tree/messages/chain.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using io::Result;
using std::string;
using std::string_view;

// Parses HOST, USER@HOST or [IPV6], with or without the colon of a location.
Result<Location> parse_host(std::string_view option, const string& word) {
  const bool whole = word.ends_with(':') || word.find("://") != word.npos;
  auto location = parse_location(whole ? word : word + ":");
  if (!location) return location;
  const bool is_host = is_remote(*location) && location->path == ".";
  if (is_host) return location;
  return plain_error(ErrorKind::usage, option, word, "is not a host; write HOST, USER@HOST or [IPV6]");
}

// Parses "host:path", of which the path may be empty.
Result<Location> parse_begin_of_path(const string& word) {
  auto location = parse_location(word);
  if (!location) return location;
  if (!is_remote(*location)) return refuse("--complete", "takes HOST:PATH");
  if (word.ends_with(':')) location->path.clear();
  return location;
}

void add_copy_options(CommandLine& line, Options& options) {
  line.flag("-r,--recursive", [&] { options.recursive = true; });
  line.flag("-L,--copy-links", [&] { options.copy_links = true; });
  line.flag("--remove-source-files", [&] { options.remove_source_files = true; });
  line.flag("--copy-devices", [&] { options.copy_devices = true; });
  line.flag("-p,--preserve", [&] { options.preserve = true; });
  line.flag("--no-owner", [&] { options.owner = false; });
  line.flag("--no-xattrs", [&] { options.xattrs = false; });
  line.flag("--numeric-ids", [&] { options.numeric_ids = true; });
  line.flag("--inplace", [&] { options.inplace = true; });
  line.flag("-W,--whole-file", [&] { options.whole_file = true; });
  line.flag("--no-resume", [&] { options.resume = false; });
  line.flag("--fsync", [&] { options.fsync = true; });
  line.flag("--clean", [&] { options.clean = true; });
  line.flag("--verify", [&] { options.verify = true; });
  line.value("--manifest", keep(options.manifest_file));
  line.value("--sums", keep(options.sums_file));
  line.flag("--check", [&] { options.check = true; });
  line.flag("--quick", [&] { options.quick = true; });
  line.flag("--metadata", [&] { options.metadata = true; });
  line.value("--print-config", [&](const string& word) {
    return assign(options.print_config, parse_host("--print-config", word));
  });
  line.value("--complete",
             [&](const string& word) { return assign(options.complete, parse_begin_of_path(word)); });
  line.flag("--doctor", [&] { options.doctor = true; });
  line.optional_value("--json", "results", [&](const string& word) -> Result<void> {
    if (word != "results" && word != "events") return refuse("--json", "takes =events or nothing");
    options.json = word == "events" ? JsonForm::events : JsonForm::results;
    return {};
  });
  line.flag("--agent", [&] { options.agent = true; });
  line.value("--bridge", keep(options.bridge));
}

bool is_standard_stream(const Location& location) {
  return location.kind == Location::Kind::standard_stream;
}

Result<void> check_check(const Options& options) {
  if (!options.check && options.quick) return refuse("--quick", "can be used only with --check");
  if (!options.check && options.metadata) return refuse("--metadata", "can be used only with --check");
  if (!options.check) return {};
  if (options.doctor || options.agent) return refuse("--check", "cannot be used with --doctor or --agent");
  if (options.verify) return refuse("--verify", "cannot be used with --check, which copies nothing");
  if (options.manifest_file.empty() || options.sums_file.empty()) return {};
  return refuse("--check", "takes one list: --manifest or --sums");
}

Result<void> check_links_and_removal(Options& options) {
  const bool copies = !options.check && !options.clean && !options.doctor;
  const bool lists = !options.manifest_file.empty() || !options.sums_file.empty();
  if (options.copy_links && !copies && (!options.check || lists)) {
    return refuse("--copy-links", "is for copies, and for --check of SRC with DST");
  }
  if (!options.remove_source_files) return {};
  constexpr const char* kName = "--remove-source-files";
  if (!copies) return refuse(kName, "is for copies; --check, --clean and --doctor change nothing in SRC");
  if (options.sync.delete_extra)
    return refuse(kName,
                  "cannot be used with --delete, which would then remove the copies of an earlier run");
  if (options.inplace || options.copy_links)
    return refuse(kName, options.inplace
                             ? "cannot be used with --inplace: DST might be SRC under another name"
                             : "cannot be used with --copy-links, whose links may name a file twice");
  // A file that is only equal may be the very one that would be removed, so all is sent; and it must be on
  // the disk.
  options.sync.ignore_times = !options.sync.checksum && !options.sync.size_only;
  options.fsync = true;
  return {};
}

Result<void> take_launcher(Options& options) {
  if (options.launcher.empty()) return {};
  if (!options.rsh_given) return set_launcher(options.launcher, options.shell);
  return refuse("--launcher", "cannot be used with --rsh: each says what reaches a host");
}

// Refuses options that contradict each other, because whichever one won, someone would have meant the other.
Result<void> check_together(Options& options) {
  if (auto checked = check_tell_options(options); !checked) return checked;
  if (options.copy_devices && (options.recursive || options.sync.enabled)) {
    return refuse(
        "--copy-devices",
        "reads SRC if it is a device; it cannot be used with -r or --sync, which copy devices as devices");
  }
  if (options.json && options.clean) return refuse("--json", "cannot be used with --clean");
  const bool runs = !options.clean && !options.doctor;
  if (!runs && !options.log_file.empty()) return refuse("--log-file", "is for copies and --check");
  if (!runs && options.max_runtime != 0) return refuse("--max-runtime", "is for copies and --check");
  if (options.json == JsonForm::events && (options.check || options.doctor))
    return refuse("--json=events", "is for copies; --check and --doctor take --json");
  if (auto checked = check_check(options); !checked) return checked;
  if (auto checked = check_alterations(options); !checked) return checked;
  if (auto checked = check_links_and_removal(options); !checked) return checked;
  const bool lists = !options.manifest_file.empty() || !options.sums_file.empty();
  if (options.retries > 0 && lists && !options.check) {
    return refuse("--retries", "cannot be used with --manifest or --sums, which list what one run has sent");
  }
  if (auto checked = check_way_options(options); !checked) return checked;
  if (auto taken = take_launcher(options); !taken) return taken;
  return check_host_options(options);
}

Result<void> check_transport(const Options& options) {
  const bool network = is_remote(options.destination) || std::ranges::any_of(options.sources, is_remote);
  if (options.transport != tree::Transport::rdma || network) return {};
  return refuse("--transport rdma", "SRC and DST are both on this host, so nothing goes over a network");
}

// Each host has a run of its own, which cannot know what another one has removed.
Result<void> check_removal_hosts(const Options& options) {
  const auto elsewhere = [&](const Location& source) {
    return !is_same_host(source, options.sources.front());
  };
  if (!options.remove_source_files || std::ranges::none_of(options.sources, elsewhere)) return {};
  return refuse("--remove-source-files", "takes SRC on one host only; copy from one host after the other");
}

Result<void> check_streams(const Options& options) {
  const auto stream = std::ranges::find_if(options.sources, is_standard_stream);
  const bool from_stream = stream != options.sources.end();
  const bool to_stdout = is_standard_stream(options.destination);
  if (!from_stream && !to_stdout) return {};
  const string name = "'" + (from_stream ? *stream : options.destination).text() + "'";
  if (options.check) return refuse("--check", "compares files and trees, not streams");
  if (!options.manifest_file.empty() || !options.sums_file.empty()) {
    return refuse("--manifest and --sums", "list files and trees, not streams");
  }
  if (options.json && to_stdout) return refuse("--json", "prints to standard output, too, which is DST here");
  if (from_stream && to_stdout && stream->text() == options.destination.text())
    return refuse(name, "cannot be both SRC and DST");
  if (from_stream && to_stdout) return refuse(name, "is a stream, and so is DST; one of them must be a file");
  if (options.sources.size() > 1) return refuse(name, "is one file, so there can be one SRC only");
  if (options.remove_source_files && from_stream)
    return refuse("--remove-source-files", "is for files, not for " + name);
  if (options.recursive) return refuse(name, "is one file, not a tree; -r cannot be used with it");
  return {};
}

Result<void> take_doctor_operands(const std::vector<string>& words, Options& options) {
  if (options.agent) return refuse("--doctor", "cannot be used with --agent");
  if (words.empty()) return {};
  if (!options.host_words.from.empty()) return refuse("--hosts", "names the hosts, so --doctor takes none");
  if (words.size() > 1) return refuse("--doctor", "takes one HOST at most, or a list of hosts");
  if (is_host_list(words.front())) return options.host_words.list = words.front(), Result<void>();
  return assign(options.doctor_host, parse_host("--doctor", words.front()));
}

Result<void> take_clean_operand(const std::vector<string>& words, Options& options) {
  if (options.doctor || options.agent) return refuse("--clean", "cannot be used with --doctor or --agent");
  const bool compares = !options.sync_option.empty() && options.sync_option != "--dry-run";
  if (options.sync.enabled || compares || !options.mirror_option.empty()) {
    return refuse("--clean", "takes none of --sync's options but --dry-run");
  }
  if (words.size() != 1) return refuse("--clean", "takes one DIR, or one on several hosts");
  auto taken = take_destination(words.front(), options);
  if (taken && is_standard_stream(options.destination))
    return refuse("'-'", "is not a directory, so there is nothing to clean");
  return taken;
}

Result<void> take_operands(const std::vector<string>& words, Options& options) {
  if (options.complete) return {};  // what else is on the line is not complete yet
  if (options.print_config) {
    const bool other = options.clean || options.doctor || options.check || options.agent;
    if (words.empty() && !other) return {};
    return refuse("--print-config",
                  "takes one HOST and copies nothing; it goes with no SRC, DST or other task");
  }
  if (options.clean) return take_clean_operand(words, options);
  if (options.doctor) return take_doctor_operands(words, options);
  if (options.agent) {
    if (words.empty()) return {};
    return refuse("--agent", "takes no SRC and DST");
  }
  const bool with_list = options.check && (!options.manifest_file.empty() || !options.sums_file.empty());
  if (with_list) {
    if (words.size() != 1) return refuse("--check", "with a list takes one operand, the tree to be checked");
    if (auto taken = take_destination(words.front(), options); !taken) return taken;
    if (auto checked = check_removal_hosts(options); !checked) return checked;
    return check_streams(options);
  }
  if (options.check && words.size() > 2) return refuse("--check", "takes one SRC and one DST");
  if (words.empty()) return refuse("command line", "SRC and DST are missing");
  if (words.size() == 1) return refuse("command line", "DST is missing");
  for (const string& word : std::span(words).first(words.size() - 1)) {
    Result<Location> location = parse_location(word);
    if (!location) return location.error();
    options.sources.push_back(std::move(location).value());
  }
  if (auto taken = take_destination(words.back(), options); !taken) return taken;
  if (auto checked = check_transport(options); !checked) return checked;
  if (auto checked = check_selection(options); !checked) return checked;
  if (auto checked = check_sync_options(options); !checked) return checked;
  if (auto checked = check_removal_hosts(options); !checked) return checked;
  return check_streams(options);
}

// Between two hosts the way through this one is that of ssh; all other copies end or begin here anyway.
Result<void> take_way_through_here(Options& options) {
  const bool between = is_remote(options.destination) && std::ranges::all_of(options.sources, is_remote) &&
                       !options.sources.empty();
  if (!options.through_here || !between) return {};
  if (!options.via.empty() && options.via != kViaSsh) return refuse("-3", "cannot be used with --via");
  options.via = kViaSsh;
  return check_way_options(options);
}

Result<void> check_places(const Options& options) {
  std::vector<Location> places = options.sources;
  for (const Location& target : targets_of(options)) places.push_back(target);
  for (const auto& host : {options.doctor_host, options.complete, options.print_config}) {
    if (host) places.push_back(*host);
  }
  for (const Location& place : places) {
    if (auto checked = check_reachable(options.shell, place); !checked) return checked;
  }
  return {};
}

// True if the option is given. -i is scp's in a copy and rsync's in a mirror, so which of them it is must be
// known before the options are parsed.
bool has_word(int argc, const char* const* argv, string_view option) {
  for (int i = 1; i < argc && string_view(argv[i]) != "--"; ++i) {
    if (argv[i] == option) return true;
  }
  return false;
}

Result<void> read_command_line(CommandLine& line, int argc, const char* const* argv, Options& options) {
  const auto given = std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0);
  const auto translated = translate_habits(given, [&](const string& name) { return line.takes_value(name); });
  if (!translated) return translated.error();
  std::vector<const char*> own{"rdcp"};
  for (const string& word : *translated) own.push_back(word.c_str());
  if (auto parsed = line.parse(static_cast<int>(own.size()), own.data()); !parsed) return parsed;
  options.shell.quiet = options.quiet;
  if (auto checked = check_together(options); !checked) return checked;
  auto words = line.operands();
  if (!words) return words.error();
  if (auto taken = take_operands(*words, options); !taken) return taken;
  if (auto taken = take_way_through_here(options); !taken) return taken;
  if (auto checked = check_places(options); !checked) return checked;
  if (auto checked = check_hosts(options); !checked) return checked;
  return check_target_options(options);
}

}  // namespace

std::string json_of_refusal(int argc, const char* const* argv, const io::Error& error) {
  const bool events = has_word(argc, argv, "--json=events");
  if (!events && !has_word(argc, argv, "--json")) return {};
  JsonReport report(events ? JsonForm::events : JsonForm::results);
  const string line = report.problem(json_problem(error));
  return line + report.end(exit_status(error.kind, end_is_asked_for()));
}

Parsed parse_options(int argc, const char* const* argv) {
  Parsed parsed;
  const bool mirror = has_word(argc, argv, "--sync");
  parsed.options.retry_seconds = kRetrySeconds;
  CommandLine line;
  HelpFlags asked;
  add_help_options(line, asked);
  add_copy_options(line, parsed.options);
  add_alteration_options(line, parsed.options);
  add_selection_options(line, parsed.options.selection_words);
  add_sync_options(line, parsed.options, mirror ? "-i,--itemize-changes" : "--itemize-changes");
  add_target_options(line, parsed.options);
  add_tell_options(line, parsed.options);
  add_progress_option(line, parsed.options);
  add_host_options(line, parsed.options, mirror ? "--identity" : "-i,--identity");
  line.value("--launcher", keep(parsed.options.launcher));
  line.value("--hosts", keep(parsed.options.host_words.from));
  line.value("--failed-hosts", keep(parsed.options.failed_hosts));
  line.value("--fanout", [&](const string& word) {
    return assign(parsed.options.fanout, parse_count("--fanout", word, 1, tree::kNextTargetsMax));
  });
  line.flag("--keep-slow-hosts", [&] { parsed.options.keep_slow_hosts = true; });
  line.flag("-3", [&] { parsed.options.through_here = true; });
  line.flag("-4,--ipv4", [&] { parsed.options.ipv4 = true; });
  line.flag("-6,--ipv6", [&] { parsed.options.ipv6 = true; });
  line.value("-P,--port", [&](const string& word) {
    return assign(parsed.options.shell.ssh_port, parse_count("--port", word, 1, 65535));
  });
  add_way_options(line, parsed.options);
  add_encrypt_options(line, parsed.options);
  add_compress_option(line, parsed.options);
  line.value("--retry-time", [&](const string& word) {
    return assign(parsed.options.retry_seconds, parse_count("--retry-time", word, 0, kRetrySecondsMax));
  });
  line.value("--max-runtime", [&](const string& word) {
    return assign(parsed.options.max_runtime, parse_count("--max-runtime", word, 1, kRuntimeMax));
  });
  line.value("--log-file", keep(parsed.options.log_file));
  line.value("--retries", [&](const string& word) {
    return assign(parsed.options.retries, parse_count("--retries", word, 0, kRetriesMax));
  });
  add_volume_options(line, parsed.options);
  add_path_options(line, parsed.options);
  const Result<void> read = read_command_line(line, argc, argv, parsed.options);
  parsed.take(asked, read, "rdcp", kHelpText);
  if (parsed.exit_status == kExitUsage) parsed.text_out = json_of_refusal(argc, argv, read.error());
  return parsed;
}

}  // namespace rdcp::cli
