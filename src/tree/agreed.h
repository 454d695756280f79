// What a source may send in a job. A frame, a flag or a kind of entry that the job has no use for is refused,
// even where some code could do with it: what was not agreed on has not been thought of either.
#pragma once

#include "net/frame.h"
#include "tree/entry.h"
#include "tree/job.h"

namespace rdcp::tree {

// What of a target's job decides that; a set of these.
enum Term : unsigned {
  kChanges = 1 << 0,        // the job writes: it is no dry run
  kManyFiles = 1 << 1,      // not one stream of bytes, as rdrecv takes it
  kHasTree = 1 << 2,        // files have names here: DST is not written in place
  kKinds = 1 << 3,          // directories, symlinks and special files may come, too (-r)
  kSyncs = 1 << 4,          // entries are compared first
  kDeletes = 1 << 5,        // --delete
  kComparesFiles = 1 << 6,  // large files are only compared, as --checksum has it
  kHasOldFiles = 1 << 7,    // what an old file has may be asked for by digests
  kResumes = 1 << 8,        // so may what an earlier run has written
  kByKernel = 1 << 9,       // the source's descriptors are this process's
  kLosesStreams = 1 << 10,  // one may be lost, and the job goes on
  // No term, but a state: the source has told that a stream is lost.
  kHasLostOne = 1 << 11,
};
using Terms = unsigned;

// one_stream: see Target::take_only_one_file(). in_place: DST itself is written.
Terms terms_of(const TargetJob& job, std::uint16_t streams, bool one_stream, bool in_place);

// Why the frame may not come, or nullptr. What depends on its file (open or not, and for what) is for who
// looks the file up.
const char* fault_of(Terms terms, const net::Frame& frame);
// The same of an entry of an archive, or of the one that opens or commits a file.
const char* fault_of(Terms terms, const Entry& entry);

}  // namespace rdcp::tree
