// A source hears one answer to a chunk, however many targets stand behind its first one.
#pragma once

#include "net/stream/frame.h"
#include "tree/streams/passed_chunk.h"

namespace rdcp::tree {

// Returns the answer that lets every target have what it lacks: what one of them wants is sent to all, and
// what one of them could not do keeps nothing from the others, since it has reported that itself. With
// strict, for a source that removes what was put, nothing is done that one of them has not done.
//
// own, behind: valid answers to `frame` (see net::may_answer()), neither of them bad_digest; so is the
// result.
ChunkAnswer merged(const net::Frame& frame, const ChunkAnswer& own, const ChunkAnswer& behind, bool strict);

}  // namespace rdcp::tree
