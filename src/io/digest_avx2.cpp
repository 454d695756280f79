#include "io/digest_vector.inc"

namespace rdcp::io {

constexpr VectorCode kAvx2Code = kCode;

}  // namespace rdcp::io
