// Frames as a hostile peer makes them.
#pragma once

#include <span>

#include "io/digest.h"
#include "net/stream/frame.h"

namespace rdcp::net {

// Puts a right check over whatever stands before it.
inline void reseal(FrameBytes& bytes) {
  const std::uint64_t check = io::check_of(std::span(bytes).first<88>());
  for (std::size_t i = 0; i < 8; ++i) bytes[88 + i] = static_cast<std::byte>(check >> (8 * i));
}

}  // namespace rdcp::net
