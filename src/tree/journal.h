// What is in a partial file: one record for each chunk that was written to it, in a file beside it.
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
#include "io/fd.h"

namespace rdcp::tree {

// The file at the source, in the state that it is copied in.
struct SourceState {
  io::Digest token;  // the source's word for it: another file, size or mtime gives another one
  std::uint64_t size = 0;
  bool operator==(const SourceState&) const = default;
};

// On disk, little-endian: a header of kHeaderBytes (magic, version, length of the name, token, size, inode of
// the part, name, XXH3-64 of all before it), then records of kRecordBytes: offset u64, length u64 (bit 63:
// without a digest), stamp u64, digest 16, XXH3-64 of these and of the header's check. A record is written
// when its bytes have been, at a place of its own; nothing is ever written twice. What was written to
// this mount (mount_stamp.h) is as it was told, whatever became of the process: the page cache outlives it.
// Other records are *doubtful*, and where there is no stamp all are: their bytes have to be read and
// compared.
//
// Thread-safe but for load() and start().
class Journal {
 public:
  struct Record {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    io::Digest digest;
  };

  // file: read-write, locked by the caller for as long as the journal lives.
  // stamp: of the mount that it is on; none: no record is trusted unread, now or later.
  Journal(io::Fd file, std::string_view final_name, std::optional<std::uint64_t> stamp = std::nullopt)
      : file_(std::move(file)), name_(final_name), stamp_(stamp) {}

  // Takes what an earlier run has left. False: it is not about this state of the file, or about another part
  // than that of this inode. doubt: nothing is to be trusted unread.
  bool load(const SourceState& source, std::uint64_t part_inode, bool doubt);
  // Empty, for a new part. False: it cannot be written.
  bool start(const SourceState& source, std::uint64_t part_inode);
  // The inode that the header names, if there is a header of ours: whatever is there under the part's name
  // was made by us.
  std::optional<std::uint64_t> part_inode() const;
  std::string name_in_header() const;  // empty: there is none

  // These bytes are in the part now. A record that cannot be written is only missed later.
  void add(std::uint64_t offset, std::uint64_t length, const io::Digest& digest);
  void add_without_digest(std::uint64_t offset, std::uint64_t length);

  // Of an earlier run:
  bool has_any() const;
  // Whether all of these bytes are there for certain.
  bool holds(std::uint64_t offset, std::uint64_t length) const;
  // The next doubtful record that has bytes in this extent; it is forgotten, unless confirm() says that its
  // bytes have been read and are as recorded.
  std::optional<Record> take_doubtful(std::uint64_t offset, std::uint64_t length);
  void confirm(const Record& record);

  static constexpr std::size_t kHeaderBytes = 512;
  static constexpr std::size_t kRecordBytes = 48;
  // Beyond these nothing is recorded or read: 1 TiB in chunks of 1 MiB.
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
  void insert(std::uint64_t offset, std::uint64_t length);

  const io::Fd file_;
  const std::string name_;
  const std::optional<std::uint64_t> stamp_;
  std::uint64_t header_check_ = 0;
  std::uint64_t size_ = 0;
  std::atomic<std::uint64_t> next_{0};

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> there_;  // begin to end, neither touching nor overlapping
  std::map<std::uint64_t, Record> doubtful_;      // by offset
};

}  // namespace rdcp::tree
