#include "cli/options/target_options.h"

#include <string>
#include <string_view>

#include "cli/options/shared_options.h"

namespace rdcp::cli {

using io::Result;
using std::string;
using std::string_view;

namespace {

// Returns the path without "." and slashes that say nothing.
Result<string> path_beneath_destination(string_view option, string_view word) {
  string path;
  const auto refused = [option] {
    return refuse(option, "must be a directory in DST: write a path beneath it");
  };
  if (word.starts_with('/')) return refused();
  while (!word.empty()) {
    const string_view component = word.substr(0, word.find('/'));
    if (component == "..") return refused();
    if (!component.empty() && component != ".") path += (path.empty() ? "" : "/") + string(component);
    word.remove_prefix(component.size() == word.size() ? word.size() : component.size() + 1);
  }
  if (path.empty()) return refused();
  return path;
}

Result<void> check_backup(Options& options) {
  if (!options.backup) {
    return options.backup_suffix ? Result<void>(refuse("--suffix", "can be used only with --backup"))
                                 : Result<void>();
  }
  if (options.inplace) return refuse("--backup", "cannot be used with --inplace, which replaces no file");
  const bool elsewhere = !options.backup_directory.empty();
  if (!options.backup_suffix) options.backup_suffix = elsewhere ? "" : "~";
  if (options.backup_suffix->find('/') != string::npos) return refuse("--suffix", "must not have a slash");
  // Nothing that is equal is replaced, or its backup would take the place of the one that matters.
  options.sync.enabled |= options.recursive;
  return {};
}

Result<void> check_link_dest(Options& options) {
  if (options.link_directories.empty()) return {};
  constexpr const char* kName = "--link-dest";
  if (options.link_directories.size() > tree::kLinkDirectoriesMax) {
    return refuse(kName, "may be given " + std::to_string(tree::kLinkDirectoriesMax) + " times at most");
  }
  if (!options.recursive) return refuse(kName, "can be used only with -r or --sync");
  if (options.inplace)
    return refuse(kName, "cannot be used with --inplace, which would write into both copies");
  if (options.sync.checksum) return refuse(kName, "cannot be used with --checksum: size and time decide");
  options.sync.enabled = true;
  return {};
}

}  // namespace

void add_target_options(CommandLine& line, Options& options) {
  line.flag("--mkpath", [&] {
    options.make_path = true;
    options.target_option = "--mkpath";
  });
  line.flag("-b,--backup", [&] {
    options.backup = true;
    options.target_option = "--backup";
  });
  line.value("--backup-dir", [&](const string& word) {
    options.backup = true;
    options.target_option = "--backup-dir";
    return assign(options.backup_directory, path_beneath_destination("--backup-dir", word));
  });
  line.values("--link-dest", [&](const string& word) -> Result<void> {
    options.link_directories.push_back(word);
    options.target_option = "--link-dest";
    return {};
  });
  line.value("--suffix", [&](const string& word) -> Result<void> {
    options.target_option = "--suffix";
    options.backup_suffix = word;
    return {};
  });
}

Result<void> check_target_options(Options& options) {
  if (options.target_option.empty()) return {};
  if (options.check || options.doctor || options.clean || options.agent) {
    return refuse(options.target_option, "can be used only with a copy");
  }
  if (options.destination.kind == Location::Kind::standard_stream) {
    return refuse(options.target_option, "DST is '-', a stream");
  }
  if (auto checked = check_link_dest(options); !checked) return checked;
  return check_backup(options);
}

}  // namespace rdcp::cli
