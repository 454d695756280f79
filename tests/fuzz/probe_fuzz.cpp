// What a source may put into a probe: whatever it is, its pieces add up to what it says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tree/pages/probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rdcp::tree::Probe;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto probe = Probe::parse(bytes);
  if (!probe) return 0;
  if (probe->count() == 0 || probe->count() > rdcp::tree::kSpanPiecesMax) std::abort();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < probe->count(); ++i) {
    sum += probe->piece_length(i);
    if (probe->digest(i).bytes.size() != 16 || probe->piece_length(i) == 0) std::abort();
  }
  if (sum != probe->length()) std::abort();
  return 0;
}
