// The lists of digests that a copy leaves behind: --manifest, --sums.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "cli/options.h"
#include "io/result.h"
#include "tree/sum_file.h"

namespace rdcp::cli {

class CopySums {
 public:
  // umask: of the user, for the files.
  static io::Result<CopySums> open(const Options& options, mode_t umask);
  bool wanted() const { return !writers_.empty(); }
  // What goes wrong is told by finish().
  void add(const tree::SumLine& line);
  // The files get their names.
  io::Result<void> finish();

 private:
  std::vector<tree::SumWriter> writers_;
  std::optional<io::Error> error_;
};

}  // namespace rdcp::cli
