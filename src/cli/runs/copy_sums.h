// Writes the lists of digests that a copy leaves behind: --manifest, --sums.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "io/result.h"
#include "tree/check/sum_file.h"

namespace rdcp::cli {

class CopySums {
 public:
  // Opens the lists. An empty path stands for none. umask: the user's, for the modes of the lists.
  static io::Result<CopySums> open(const std::string& manifest_path, const std::string& sums_path,
                                   mode_t umask);
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
