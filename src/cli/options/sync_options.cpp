#include "cli/options/sync_options.h"

#include <limits>

#include "cli/options/shared_options.h"
#include "cli/text/size.h"

namespace rdcp::cli {

using io::Result;
using std::string;

void add_sync_options(CommandLine& line, Options& options, const char* itemize_names) {
  tree::SyncSettings& sync = options.sync;
  const auto note = [&options](const char* name) { options.sync_option = name; };
  const auto flag = [&](const char* names, const char* name, bool& to) {
    line.flag(names, [&to, note, name] {
      to = true;
      note(name);
    });
  };
  line.flag("--sync", [&] { sync.enabled = sync.mirror = true; });
  flag("-n,--dry-run", "--dry-run", sync.dry_run);
  flag(itemize_names, "--itemize-changes", sync.itemize);
  flag("-c,--checksum", "--checksum", sync.checksum);
  flag("--size-only", "--size-only", sync.size_only);
  flag("-I,--ignore-times", "--ignore-times", sync.ignore_times);
  flag("-u,--update", "--update", sync.update);
  flag("--existing", "--existing", sync.existing);
  flag("--ignore-existing", "--ignore-existing", sync.ignore_existing);
  flag("--delete", "--delete", sync.delete_extra);
  line.flag("--delete-excluded", [&options, note] {
    note("--delete-excluded");
    options.sync.delete_extra = true;
    options.selection.delete_excluded = true;
  });
  flag("--force", "--force", sync.force);
  line.value("--modify-window", [&sync, note](const string& word) -> Result<void> {
    note("--modify-window");
    return assign(sync.modify_window_s, parse_count("--modify-window", word, 0, tree::kModifyWindowMax));
  });
  line.value("--max-delete", [&sync, note](const string& word) -> Result<void> {
    note("--max-delete");
    return assign(sync.max_delete,
                  parse_count("--max-delete", word, 0, std::numeric_limits<std::int64_t>::max()));
  });
}

Result<void> check_sync_options(Options& options) {
  const tree::SyncSettings& sync = options.sync;
  if (!sync.enabled) {
    if (options.sync_option.empty()) return {};
    return refuse(options.sync_option, "can be used only with --sync");
  }
  const auto is_stream = [](const Location& location) {
    return location.kind == Location::Kind::standard_stream;
  };
  if (options.sources.size() != 1) {
    return refuse("--sync", sync.itemize
                                ? "takes one SRC; -i means --itemize-changes here, use --identity for a key"
                                : "takes one SRC");
  }
  if (is_stream(options.sources.front()) || is_stream(options.destination)) {
    return refuse("--sync", "compares files, and '-' is a stream");
  }
  if (sync.delete_extra && !options.selection_words.files_from.empty()) {
    return refuse("--delete", "cannot be used with --files-from, which does not list everything in SRC");
  }
  if (sync.size_only && (sync.checksum || sync.ignore_times)) {
    return refuse("--size-only", "cannot be used with --checksum or --ignore-times");
  }
  options.recursive = true;
  return {};
}

}  // namespace rdcp::cli
