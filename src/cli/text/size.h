// Parses sizes and rates, "64K", "1MiB", "500MB", and counts.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/result.h"

namespace rdcp::cli {

// Parses a number of bytes: a whole number, then nothing or B (bytes), K M G T or KiB MiB GiB TiB (powers of
// 1024), or KB MB GB TB (powers of 1000), in upper or lower case. Before a unit there may be a fraction,
// "1.5G"; what is less than a byte is cut off. Errors (usage) name `option`: not a number, negative, an
// unknown suffix, more than 2^63 - 1 (the largest file offset).
io::Result<std::uint64_t> parse_size(std::string_view option, std::string_view text);

// Parses a whole number within [least, most], in decimal digits only. Errors (usage) name `option` and the
// range.
io::Result<std::uint64_t> parse_count(std::string_view option, std::string_view text, std::uint64_t least,
                                      std::uint64_t most);

}  // namespace rdcp::cli
