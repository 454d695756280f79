// Which part of SRC is to be copied: --exclude and its kin, --files-from, sizes, filesystems.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/result.h"
#include "tree/filter.h"
#include "tree/filter_parser.h"

namespace rdcp::cli {

class CommandLine;
struct Options;

// As words of the command line, in their order; no file has been read yet.
struct SelectionWords {
  struct Filter {
    tree::FilterParser::Word option;
    std::string word;
  };
  std::vector<Filter> filters;
  std::string files_from;  // empty: all of SRC
  bool ended_by_nul = false;
  bool one_file_system = false;
  std::uint64_t size_min = 0;
  std::uint64_t size_max = UINT64_MAX;

  bool any() const {
    return !filters.empty() || !files_from.empty() || one_file_system || size_min != 0 ||
           size_max != UINT64_MAX;
  }
};

void add_selection_options(CommandLine& line, SelectionWords& words);
// Errors (usage): standard streams, which are one file, and several SRC with --files-from.
io::Result<void> check_selection(const Options& options);

// Reads the files that the words name. Fills options.selection and options.named_paths; with --files-from SRC
// means what is in it. Errors: a file cannot be read; what is in it, or on the command line, makes no sense.
io::Result<void> load_selection(Options& options);

}  // namespace rdcp::cli
