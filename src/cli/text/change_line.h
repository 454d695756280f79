// Formats a sync's changes as lines for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tree/messages/changes.h"

namespace rdcp::cli {

// Formats a change as rsync --itemize-changes does: ">f.st...... a/b", "cL+++++++++ a -> b",
// "hf+++++++++ a => b", "*deleting   a". Names are escaped (io::printable). If `sends`, this host is the
// source of the copy, and the line has "<" for ">".
std::string change_line(const tree::Change& change, bool sends);
// Returns a change as {"change": ">f.st......", "path": "a/b"}, with "target" where there is one.
nlohmann::ordered_json change_json(const tree::Change& change, bool sends);

}  // namespace rdcp::cli
