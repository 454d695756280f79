// Writes the lists of digests that a copy leaves behind: --manifest, --sums.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "cli/options/options.h"
#include "io/result.h"
#include "tree/check/sum_file.h"

namespace rdcp::cli {

class CopySums {
 public:
  // Opens the lists that the options ask for. umask: the user's, for the modes of the lists.
  static io::Result<CopySums> open(const Options& options, mode_t umask);
  bool wanted() const { return !writers_.empty(); }
  // Adds a line to each list. Errors are returned by finish().
  void add(const tree::SumLine& line);
  // Gives the lists their names.
  io::Result<void> finish();

 private:
  std::vector<tree::SumWriter> writers_;
  std::optional<io::Error> error_;
};

}  // namespace rdcp::cli
