// A sync's changes as lines for people and for programs.
#pragma once

#include <string>

#include "tree/changes.h"

namespace rdcp::cli {

// As rsync --itemize-changes prints it: ">f.st...... a/b", "cL+++++++++ a -> b", "hf+++++++++ a => b",
// "*deleting   a"; names are escaped (io::printable). sends: what arrives there leaves here, so "<".
std::string change_line(const tree::Change& change, bool sends);
// {"change": ">f.st......", "path": "a/b"}, with "target" where there is one. Bytes that are no UTF-8 are
// replaced.
std::string change_json(const tree::Change& change, bool sends);

}  // namespace rdcp::cli
