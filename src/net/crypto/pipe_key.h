// Derives the keys of a pipe between two hosts from a KEY that both users know.
#pragma once

#include <string_view>

#include "io/result.h"
#include "net/crypto/handshake.h"

namespace rdcp::net {

// There is one key for each purpose, so that a proof on one connection is of no use on the other.
struct PipeKeys {
  SessionKey control{};  // for the connection over which the two sides agree
  SessionKey data{};     // for the streams
};

// Computes master = scrypt(secret, salt "rdcp pipe" | salt, N 16384, r 8, p 1), then HMAC-SHA256(master,
// "control") and HMAC-SHA256(master, "data"). Each guess at the secret costs 16 MiB and some 50 ms, because
// whoever listens in, or connects to a listener, gets a MAC against which to try guesses offline. The
// listener makes a new salt each time it runs, so that nothing can be computed beforehand. The connector adds
// its nonce, which goes into the MACs and the keys that seal. Errors: the secret is empty (usage), OpenSSL
// refuses (connection).
io::Result<PipeKeys> derive_pipe_keys(std::string_view secret, const Salt& salt);

}  // namespace rdcp::net
