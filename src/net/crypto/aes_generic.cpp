#include "net/crypto/seal.h"

namespace rdcp::net {

// ChaCha20-Poly1305 is the right choice everywhere.
bool has_fast_aes() {
  return false;
}

}  // namespace rdcp::net
