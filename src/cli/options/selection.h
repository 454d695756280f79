// The options that say which part of SRC is copied: --exclude and its kin, --files-from, sizes, filesystems.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/result.h"
#include "tree/select/filter.h"
#include "tree/select/filter_parser.h"

namespace rdcp::cli {

class CommandLine;
struct Options;

// The words of these options, in the order of the command line. The files that they name are not read yet.
struct SelectionWords {
  struct Filter {
    tree::FilterParser::Word option;
    std::string word;
  };
  std::vector<Filter> filters;
  std::string files_from;  // empty: all of SRC
  bool relative = false;   // the directories that SRC is in are copied, too
  bool ended_by_nul = false;
  bool one_file_system = false;
  std::uint64_t size_min = 0;
  std::uint64_t size_max = UINT64_MAX;

  bool any() const {
    return !filters.empty() || !files_from.empty() || relative || one_file_system || size_min != 0 ||
           size_max != UINT64_MAX;
  }
};

void add_selection_options(CommandLine& line, SelectionWords& words);
// Checks what the options go with. Errors (usage): a standard stream, which is one file; several SRC with
// --files-from.
io::Result<void> check_selection(const Options& options);

// Reads the files that the words name, and fills options.selection and options.named_paths. With --files-from
// it adds a slash to SRC, which then means what is in it; with --relative it makes one SRC of all, and names
// what is copied of it. Errors: a file cannot be read; what is in it, or on the command line, makes no sense.
io::Result<void> load_selection(Options& options);

}  // namespace rdcp::cli
