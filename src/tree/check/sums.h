// Formats and parses the lines of a list of digests (--manifest, --sums).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/result.h"
#include "tree/messages/sum_line.h"

namespace rdcp::tree {

// manifest: a first line "rdcp-manifest 1", then "TYPE SIZE MTIME DIGEST PATH" for each entry: one of f d l p
// s c b, bytes or "-", seconds with nine decimals, 32 hexadecimal digits or "-", and the path up to the end
// of the line, with a backslash as "\\" and a newline as "\n"; "." is the top.
//
// xxhsum: what xxh128sum(1) writes and reads, for files only. If a name has a newline, its line begins with a
// backslash and has the name escaped as above, as xxh128sum does since version 0.8.2.
enum class SumForm : std::uint8_t { manifest, xxhsum };

inline constexpr std::string_view kManifestHead = "rdcp-manifest 1";

// Returns a line with its newline, or an empty string if the form has no line for it.
std::string text_of(const SumLine& line, SumForm form);
// Parses a line without its newline. Errors (file) say what is wrong but do not quote the line. A path that
// is not safe (is_safe_path) is an error.
io::Result<SumLine> parse_sum_line(std::string_view text, SumForm form);

// Returns "f" for a file, "d" for a directory, and so on.
char letter_of(EntryType type);

}  // namespace rdcp::tree
