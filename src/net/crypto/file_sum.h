// SHA-256 of a file, against forgery as well as faults.
#pragma once

#include <optional>
#include <string>

namespace rdcp::net {

// Returns the SHA-256 (FIPS 180-4) of all bytes of the file, as 64 hexadecimal digits, or nothing, with
// errno, if it cannot be read. The descriptor's offset stays where it is.
std::optional<std::string> sha256_of_file(int fd);

}  // namespace rdcp::net
