// Decides what a source may send in a job. A frame, a flag or a kind of entry that the job has no use for is
// refused even if some code could handle it, because nobody has considered it.
#pragma once

#include "net/stream/frame.h"
#include "tree/messages/job.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// The properties of a target's job that decide this; they form a set.
enum Term : unsigned {
  kChanges = 1 << 0,        // the job writes: it is not a dry run
  kManyFiles = 1 << 1,      // the job is not one stream of bytes, as for rdrecv
  kHasTree = 1 << 2,        // files have names here: DST is not written in place
  kKinds = 1 << 3,          // directories, symlinks and special files may also come (-r)
  kSyncs = 1 << 4,          // entries are compared first
  kDeletes = 1 << 5,        // --delete
  kComparesFiles = 1 << 6,  // large files are only compared, as --checksum has it
  kHasOldFiles = 1 << 7,    // a basis file may be probed by digests
  kResumes = 1 << 8,        // parts of an earlier run may be asked for
  kByKernel = 1 << 9,       // copies by the kernel: both agents run in this process
  kLosesStreams = 1 << 10,  // a stream may be lost, and the job goes on
  // This is not a property, but a state: the source has reported that a stream is lost.
  kHasLostOne = 1 << 11,
};
using Terms = unsigned;

// one_stream: see Target::take_only_one_file(). in_place: DST itself is written.
Terms terms_of(const TargetJob& job, std::uint16_t streams, bool one_stream, bool in_place);

// Returns why the frame may not come, or nullptr. Whoever looks its file up checks what depends on the file
// (is it open, and for what).
const char* fault_of(Terms terms, const net::Frame& frame);
// The same for an entry of an archive, or for the one that opens or commits a file.
const char* fault_of(Terms terms, const Entry& entry);

}  // namespace rdcp::tree
