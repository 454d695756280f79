// The keys of a pipe between two hosts, out of a KEY that both users know.
#pragma once

#include <string_view>

#include "io/result.h"
#include "net/crypto/handshake.h"

namespace rdcp::net {

// One key for each purpose, so that what is proven on one connection is of no use on another.
struct PipeKeys {
  SessionKey control{};  // of the connection over which the two sides agree
  SessionKey data{};     // of the streams
};

// master = scrypt(secret, salt "rdcp pipe" | salt, N 16384, r 8, p 1): 16 MiB and some 50 ms for each guess,
// since whoever listens in, or connects to a listener, gets a MAC by which guesses can be tried at home. The
// salt is the listener's, new each time it runs, so that nothing can be worked out beforehand; the
// connector's part is its nonce, which goes into the MACs and the keys that seal. Then HMAC-SHA256(master,
// "control") and HMAC-SHA256(master, "data"). Errors: the secret is empty (usage), OpenSSL refuses
// (connection).
io::Result<PipeKeys> derive_pipe_keys(std::string_view secret, const Salt& salt);

}  // namespace rdcp::net
