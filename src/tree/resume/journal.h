// Records what is in a partial file: a file beside it has one record for each chunk that was written.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/digest.h"
#include "io/extent_set.h"
#include "io/fd.h"

namespace rdcp::tree {

// The state of the source's file that is copied.
struct SourceState {
  io::Digest token;  // made by the source; another file, size or mtime has another one
  std::uint64_t size = 0;
  bool operator==(const SourceState&) const = default;
};

// The file is little-endian. A header of kHeaderBytes (magic, version, length of the name, token, size, inode
// of the part, name, XXH3-64 of all before it) is followed by records of kRecordBytes: offset u64, length u64
// (bit 63: without a digest), stamp u64, digest 16, XXH3-64 of these and of the header's check. Each record
// is written after its bytes, at a place of its own, and never overwritten. Records with this mount's stamp
// (mount_stamp.h) are trusted, because the page cache keeps their bytes even if the process is killed. Other
// records are *doubtful*, and so are all of them if there is no stamp: their bytes have to be read and
// compared.
//
// Thread-safe, except for load() and start().
class Journal {
 public:
  struct Record {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    io::Digest digest;
  };

  // file is open for reading and writing, and the caller locks it for as long as the journal lives. stamp is
  // that of the mount that it is on; without one no record is trusted unread, now or later.
  Journal(io::Fd file, std::string_view final_name, std::optional<std::uint64_t> stamp = std::nullopt)
      : file_(std::move(file)), name_(final_name), stamp_(stamp) {}

  // Loads what an earlier run has left. Returns false if it is about another file, another state of it, or a
  // part that does not have this inode. With doubt, no record is trusted unread.
  bool load(const SourceState& source, std::uint64_t part_inode, bool doubt);
  // Starts an empty journal for a new part. Returns false if it cannot be written.
  bool start(const SourceState& source, std::uint64_t part_inode);
  // Returns the inode in the header, if the file has a header of ours. A part with this inode was made by us,
  // whoever owns it now.
  std::optional<std::uint64_t> part_inode() const;
  std::string name_in_header() const;  // empty if there is no header

  // Records that these bytes are in the part now. If the record cannot be written, the next run only misses
  // it.
  void add(std::uint64_t offset, std::uint64_t length, const io::Digest& digest);
  void add_without_digest(std::uint64_t offset, std::uint64_t length);

  // The functions below are about records of an earlier run.
  bool has_any() const;
  // True if all of these bytes are certainly in the part.
  bool holds(std::uint64_t offset, std::uint64_t length) const;
  // Returns the next doubtful record that has bytes in this extent and forgets it. confirm() records it
  // again, once its bytes have been read and match.
  std::optional<Record> take_doubtful(std::uint64_t offset, std::uint64_t length);
  void confirm(const Record& record);

  static constexpr std::size_t kHeaderBytes = 512;
  static constexpr std::size_t kRecordBytes = 48;
  // At most so many records are written or read: 1 TiB in chunks of 1 MiB.
  static constexpr std::uint64_t kRecordsMax = 1 << 20;

 private:
  struct Header {
    SourceState source;
    std::uint64_t inode = 0;
    std::string name;
    std::uint64_t check = 0;
  };
  std::optional<Header> read_header() const;
  void load_records(bool doubt);
  void take_record(const std::byte* bytes, bool doubt);
  void append(std::uint64_t offset, std::uint64_t length_and_kind, const io::Digest& digest);

  const io::Fd file_;
  const std::string name_;
  const std::optional<std::uint64_t> stamp_;
  std::uint64_t header_check_ = 0;
  std::uint64_t size_ = 0;
  std::atomic<std::uint64_t> next_{0};

  mutable std::mutex mutex_;
  io::ExtentSet there_;
  std::map<std::uint64_t, Record> doubtful_;  // by offset
};

}  // namespace rdcp::tree
