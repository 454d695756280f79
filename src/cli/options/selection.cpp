#include "cli/options/selection.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/options/command_line.h"
#include "cli/options/known_file.h"
#include "cli/options/options.h"
#include "cli/options/shared_options.h"
#include "cli/text/size.h"
#include "tree/select/destination_mapping.h"
#include "tree/select/named_paths.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::FilterParser;

namespace {

// Reads the files that the options name; standard input can be read once.
class NamedFiles {
 public:
  Result<std::string> read(const std::string& path) {
    if (is_standard_input(path) && std::exchange(stdin_read_, true)) {
      return refuse("-", "standard input can be read for one option only");
    }
    return read_list(path, tree::NamedPaths::kBytesMax);
  }

 private:
  bool stdin_read_ = false;
};

// rsync's mark in a path: what is before it does not count at DST.
constexpr std::string_view kCut = "/./";

// Holds the paths that a file names.
struct PathsOfFile {
  std::string kept;                 // the paths, each ended by NUL
  std::optional<std::string> base;  // what is cut off all of them, beneath SRC; empty: nothing
};

// Adds one path. Returns why it cannot be one, or nothing.
std::string_view add_path(std::string_view path, PathsOfFile& paths) {
  if (path.find('\0') != path.npos) return "has a NUL byte (see --from0)";
  if (path.size() >= tree::PathsNamed::kBytesMax) return "is too long for a path";
  while (path.starts_with('/') || path.starts_with("./")) path.remove_prefix(path.find('/') + 1);
  const std::size_t cut = path.find(kCut);
  const std::string_view base = cut == path.npos ? std::string_view() : path.substr(0, cut);
  if (!paths.base) paths.base = base;
  if (*paths.base != base)
    return "has its /./ elsewhere than the lines before it: one SRC begins in one place";
  if (base == ".." || base.starts_with("../") || base.ends_with("/..") || base.find("/../") != base.npos)
    return "has a .. before its /./";
  paths.kept += cut == path.npos ? path : path.substr(cut + kCut.size());
  paths.kept += '\0';
  return {};
}

// Reads a file that has one path on each line.
Result<PathsOfFile> read_paths(NamedFiles& files, const SelectionWords& words) {
  auto text = files.read(words.files_from);
  if (!text) return std::move(text).error();
  PathsOfFile paths;
  tree::Line line;
  for (tree::LineReader lines(*text, words.ended_by_nul); lines.next(line);) {
    const std::string_view wrong = add_path(line.text, paths);
    if (wrong.empty()) continue;
    return plain_error(ErrorKind::usage, "line " + std::to_string(line.number) + " of", words.files_from,
                       wrong);
  }
  // The last line of the file need not have an end, so the paths may be longer than the file.
  if (paths.kept.size() > tree::NamedPaths::kBytesMax) return refuse("--files-from", "is too long");
  return paths;
}

// Where a SRC of --relative begins, and what is kept of it.
struct RelativeSource {
  std::string base;
  std::string kept;
};

RelativeSource split_relative(const std::string& path) {
  RelativeSource source{path.starts_with('/') ? "/" : "./", path};
  if (const std::size_t mark = path.find(kCut); mark != path.npos)
    source = {path.substr(0, mark + 1), path.substr(mark + kCut.size())};
  while (source.kept.starts_with('/') || source.kept.starts_with("./"))
    source.kept.erase(0, source.kept.find('/') + 1);
  if (source.kept.empty()) source.kept = ".";
  return source;
}

// True if `inner` is, or is beneath, `outer` on this host.
bool lies_within(const std::string& inner, const std::string& outer) {
  const auto canonical = [](const std::string& path) {
    std::error_code unknown;
    auto absolute = std::filesystem::absolute(path, unknown);
    if (!unknown) absolute = std::filesystem::weakly_canonical(absolute, unknown);
    return unknown ? std::filesystem::path() : absolute;
  };
  const auto in = canonical(inner), out = canonical(outer);
  if (in.empty() || out.empty()) return true;  // nobody knows, so it may be
  return std::mismatch(out.begin(), out.end(), in.begin(), in.end()).first == out.end();
}

// Makes one SRC of all, and a list of the paths beneath it, as of --files-from.
Result<void> name_relative(Options& options) {
  std::string paths;
  Location base = options.sources.front();
  // DST may be beneath the beginning, which is often the root, but not beneath what is named.
  const bool apart = !is_remote(base) && !is_remote(options.destination);
  base.path = split_relative(base.path).base;
  for (const Location& source : options.sources) {
    const RelativeSource split = split_relative(source.path);
    Location own = source;
    own.path = split.base;
    if (own != base) {
      return refuse("--relative",
                    "takes SRC that begin in one place: " + base.text() + " is not " + own.text());
    }
    if (apart && lies_within(options.destination.path, source.path))
      return refuse("--relative", "cannot copy a directory into itself: " + source.text());
    if (split.kept.size() >= tree::PathsNamed::kBytesMax) return refuse("--relative", "has too long a path");
    paths += split.kept;
    paths += '\0';
  }
  options.selection.named_only = true;
  options.named_paths = std::make_shared<const std::string>(std::move(paths));
  options.sources = {base};
  options.named_apart = apart;
  return {};
}

}  // namespace

void add_selection_options(CommandLine& line, SelectionWords& words) {
  using Word = FilterParser::Word;
  const auto filter = [&](const char* names, Word option) {
    line.values(names, [&words, option](const std::string& word) {
      words.filters.push_back({option, word});
      return Result<void>();
    });
  };
  filter("--exclude", Word::exclude);
  filter("--include", Word::include);
  filter("-f,--filter", Word::filter);
  filter("--exclude-from", Word::exclude_from);
  filter("--include-from", Word::include_from);
  line.value("--files-from", keep(words.files_from));
  line.flag("-R,--relative", [&] { words.relative = true; });
  line.flag("-0,--from0", [&] { words.ended_by_nul = true; });
  line.flag("-x,--one-file-system", [&] { words.one_file_system = true; });
  line.value("--min-size",
             [&](const std::string& word) { return assign(words.size_min, parse_size("--min-size", word)); });
  line.value("--max-size",
             [&](const std::string& word) { return assign(words.size_max, parse_size("--max-size", word)); });
}

Result<void> check_selection(const Options& options) {
  const SelectionWords& words = options.selection_words;
  if (!words.any()) return {};
  if (options.check)
    return refuse("--check", "compares all that is there; options that exclude files cannot be used with it");
  const auto is_stream = [](const Location& location) {
    return location.kind == Location::Kind::standard_stream;
  };
  if (is_stream(options.destination) || is_stream(options.sources.front())) {
    return refuse("'-'", "is one file; options that exclude files cannot be used with it");
  }
  if (!words.files_from.empty() && options.sources.size() > 1) {
    return refuse("--files-from", "names paths beneath one SRC");
  }
  return {};
}

Result<void> load_selection(Options& options) {
  const SelectionWords& words = options.selection_words;
  NamedFiles files;
  FilterParser parser([&](const std::string& path) { return files.read(path); }, words.ended_by_nul);
  for (const auto& [option, word] : words.filters) {
    if (auto added = parser.add(option, word); !added) return added;
  }
  tree::Selection& selection = options.selection;
  selection.rules = parser.take();
  selection.one_file_system = words.one_file_system;
  selection.size_min = words.size_min;
  selection.size_max = words.size_max;
  if (auto usable = tree::Filter::create(selection.rules); !usable) return usable.error();
  if (words.files_from.empty()) return words.relative ? name_relative(options) : Result<void>();

  auto paths = read_paths(files, words);
  if (!paths) return paths.error();
  selection.named_only = true;
  options.named_paths = std::make_shared<const std::string>(std::move(paths->kept));
  std::string& source = options.sources.front().path;
  if (!tree::means_contents(source)) source += '/';
  if (!paths->base.value_or("").empty()) {
    if (!source.empty() && !source.ends_with('/')) source += '/';
    source += *paths->base + '/';
  }
  return {};
}

}  // namespace rdcp::cli
