// The digest of a file's whole content, read by plain calls on the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "io/digest.h"

namespace rdcp::tree {

// The sum over blocks of fixed size (io::FileDigest), so that both sides have the same whatever they read at
// a time; a file that is all there is one block takes a single read. None with errno where it cannot be read,
// or `going` says no. size: what fstat(2) said; a short read that gets there is not followed by one for the
// end of file. buffer: the caller's, kept between calls.
std::optional<io::Digest> digest_of_file(int fd, std::uint64_t size, std::vector<std::byte>& buffer,
                                         const std::function<bool()>& going);

}  // namespace rdcp::tree
