// Patterns in a SRC on another host ("host:*.txt"), which no shell there sees.
#pragma once

#include <string>
#include <string_view>

namespace rdcp::tree {

// True if a path has one of the characters that stand for others in glob(7): '*', '?' and '['.
bool is_pattern(std::string_view path);

// True if glob(3) may name `path` for the pattern, which is also a name for itself. A pattern stands for no
// "." or "..", and for no name that begins with a dot unless it has that dot itself. Who has asked another
// host for what a pattern stands for accepts nothing else.
bool stands_for(std::string_view pattern, std::string_view path);

}  // namespace rdcp::tree
