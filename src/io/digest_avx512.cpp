#include "io/digest_vector.inc"

namespace rdcp::io {

constexpr VectorCode kAvx512Code = kCode;

}  // namespace rdcp::io
