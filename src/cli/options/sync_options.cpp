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
  const auto note_mirror = [&options](const char* name) { options.mirror_option = name; };
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
  line.flag("--delete", [&sync, note_mirror] {
    note_mirror("--delete");
    sync.delete_extra = true;
  });
  line.flag("--delete-excluded", [&options, note_mirror] {
    note_mirror("--delete-excluded");
    options.sync.delete_extra = true;
    options.selection.delete_excluded = true;
  });
  line.flag("--force", [&sync, note_mirror] {
    note_mirror("--force");
    sync.force = true;
  });
  line.value("--modify-window", [&sync, note](const string& word) -> Result<void> {
    note("--modify-window");
    return assign(sync.modify_window_s, parse_count("--modify-window", word, 0, tree::kModifyWindowMax));
  });
  line.value("--max-delete", [&sync, note_mirror](const string& word) -> Result<void> {
    note_mirror("--max-delete");
    return assign(sync.max_delete,
                  parse_count("--max-delete", word, 0, std::numeric_limits<std::int64_t>::max()));
  });
}

namespace {

Result<void> check_mirror(Options& options) {
  const tree::SyncSettings& sync = options.sync;
  const auto is_stream = [](const Location& location) {
    return location.kind == Location::Kind::standard_stream;
  };
  if (options.sources.size() != 1) {
    return refuse("--sync", sync.itemize
                                ? "takes one SRC; -i means --itemize-changes here, use --identity for a key"
                                : "takes one SRC");
  }
  if (is_stream(options.sources.front()) || is_stream(options.destination)) {
    return refuse("--sync", "compares files, and one of SRC and DST is a stream");
  }
  if (sync.delete_extra && !options.selection_words.files_from.empty()) {
    return refuse("--delete", "cannot be used with --files-from, which does not list everything in SRC");
  }
  if (sync.delete_extra && options.selection_words.relative)
    return refuse("--delete",
                  "cannot be used with --relative, which does not name everything in its beginning");
  options.recursive = true;
  return {};
}

// A copy of a tree compares first if it is told how, or what to do with what is there.
Result<void> check_comparing_copy(Options& options) {
  if (!options.mirror_option.empty() || (options.check && !options.sync_option.empty())) {
    return refuse(options.mirror_option.empty() ? options.sync_option : options.mirror_option,
                  "can be used only with --sync");
  }
  if (options.sync_option.empty()) return {};
  if (!options.recursive) return refuse(options.sync_option, "can be used only with -r or --sync");
  options.sync.enabled = true;
  return {};
}

}  // namespace

Result<void> check_sync_options(Options& options) {
  const tree::SyncSettings& sync = options.sync;
  const auto checked = sync.mirror ? check_mirror(options) : check_comparing_copy(options);
  if (!checked) return checked;
  if (sync.size_only && (sync.checksum || sync.ignore_times)) {
    return refuse("--size-only", "cannot be used with --checksum or --ignore-times");
  }
  return {};
}

}  // namespace rdcp::cli
