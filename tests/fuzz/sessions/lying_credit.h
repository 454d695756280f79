// What a target that lies answers to a frame.
#pragma once

#include <optional>

#include "net/stream/frame.h"
#include "tests/fuzz/fuzz.h"

namespace rdcp::fuzz {

// A credit as the input chooses it, mostly one that a source takes, as everything else ends the stream; its
// slot is the frame's. An honest one once the input has run out. Nothing: the target is gone.
std::optional<net::Frame> lying_credit(Choices& choices, const net::Frame& frame);

}  // namespace rdcp::fuzz
