// Gets OpenSSL ready for a process.
#pragma once

namespace rdcp::net {

// Has OpenSSL allocate what it keeps for the life of the process; takes about a millisecond, once. Call it
// while there is one thread: OpenSSL 3.0 does not look whether its locks could be allocated, so a process
// that ran out of memory in its first MAC would crash. Returns false if there is too little memory for it.
[[nodiscard]] bool prepare_crypto();

}  // namespace rdcp::net
