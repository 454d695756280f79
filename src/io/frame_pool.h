// Memory for the frames of steps (io/step.h), which live for one chunk.
#pragma once

#include <cstddef>

namespace rdcp::io {

// Frames that were given back are used again by the same thread, so that nothing is allocated any more once
// as many frames of each size have been alive at once as ever are. A thread's frames are freed when the
// thread ends.
void* take_frame(std::size_t bytes);
void give_back_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace rdcp::io
