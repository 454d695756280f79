// Digests a file's whole content, which it reads by plain calls on the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "io/digest.h"

namespace rdcp::io {

// Returns the sum over blocks of fixed size (FileDigest), so that both sides get the same digest however
// much they read at a time. Returns nothing, with errno, if the file cannot be read, or if `going`, asked
// after each block, returns false (ECANCELED). size is what fstat(2) said: a short read that reaches it is
// not followed by another one to find the end of file, so that a file of less than a block takes a single
// read. The caller keeps the buffer between calls.
std::optional<Digest> digest_of_file(int fd, std::uint64_t size, std::vector<std::byte>& buffer,
                                     const std::function<bool()>& going);

}  // namespace rdcp::io
