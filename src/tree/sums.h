// The lines of a list of digests (--manifest, --sums), to be written and read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/result.h"
#include "tree/sum_line.h"

namespace rdcp::tree {

// manifest: a first line "rdcp-manifest 1", then for each entry "TYPE SIZE MTIME DIGEST PATH": one of f d l p
// s c b, bytes or "-", seconds with nine decimals, 32 hexadecimal digits or "-", and to the end of the line
// the path with "\\" and "\n" for a backslash and a newline; "." is the top.
// xxhsum: what xxh128sum(1) writes and reads, files alone. A line whose name has a newline begins with a
// backslash and has the name as above, which xxh128sum does from version 0.8.2 on.
enum class SumForm : std::uint8_t { manifest, xxhsum };

inline constexpr std::string_view kManifestHead = "rdcp-manifest 1";

// With its newline; empty where the form has no line for it.
std::string text_of(const SumLine& line, SumForm form);
// A line without its newline. Errors (file) say what is wrong, and nothing of what it says; unsafe paths
// (is_safe_path) are wrong.
io::Result<SumLine> parse_sum_line(std::string_view text, SumForm form);

// "f", "d", ...
char letter_of(EntryType type);

}  // namespace rdcp::tree
