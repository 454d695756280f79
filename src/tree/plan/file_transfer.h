// A large file that is on its way.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "io/digest.h"
#include "io/fd.h"
#include "io/ring.h"
#include "net/stream/frame.h"
#include "tree/plan/file_pieces.h"
#include "tree/plan/item.h"
#include "tree/plan/spans.h"

namespace rdcp::tree {

class FileTransfer;
using FileTransferRef = std::shared_ptr<FileTransfer>;

// A large file that has been opened.
struct OpenedFile {
  io::Fd fd;
  struct stat seen {};    // its status when it was opened
  struct stat status {};  // the metadata that its copy gets
  io::RingFile file;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;  // the offset in fd where extents begin: standard input may stand anywhere
  bool sparse = false;      // holes are not sent
  bool by_kernel = false;   // copied within the kernel (copy_range)
};

// The outcome of a piece that was handed out.
struct PieceAnswer {
  bool failed = false;                       // the failure has been reported
  std::uint64_t settled_bytes = 0;           // bytes that the target has now
  const net::Frame* data = nullptr;          // for an extent: the frame of its chunk, for the file's digest
  std::span<const ProbedPiece> pieces = {};  // for a span: what the target said of its pieces
};

// A file sent as parallel chunks. Life: whoever finds it makes it, and it waits in the plan; one worker opens
// it; its pieces are handed out and settled; one worker takes the last step. Calls about pieces hold the
// plan's mutex; calls about the opening and the last step come from that one worker alone.
class FileTransfer {
 public:
  // Makes a file that is looked up when it is opened. A byte stream is read to its end, because its size is
  // not known beforehand: standard input, a FIFO, a character device, a regular file that has more than its
  // size says (/proc).
  explicit FileTransfer(Item item, bool byte_stream = false)
      : item_(std::move(item)), byte_stream_(byte_stream) {}
  // Makes a file from a SRC that is open already; `opened` has its fd, begin and size set.
  FileTransfer(Item item, OpenedFile opened, bool byte_stream)
      : item_(std::move(item)), byte_stream_(byte_stream), opened_(std::move(opened)) {}

  const Item& item() const { return item_; }
  bool is_byte_stream() const { return byte_stream_; }
  bool sends_holes() const { return sends_holes_; }  // as zeros, over what an in-place target may have there
  bool was_compared() const { return was_compared_; }  // it is not compared a second time
  unsigned readings() const { return readings_; }      // this one included
  // The file's id in frames, which is set when the file is handed out to be opened.
  std::uint64_t id() const { return id_; }
  void set_id(std::uint64_t id) { id_ = id; }

  // Opening. Takes out what is open already, so that it can be opened (again).
  OpenedFile take_opened() { return std::move(opened_); }
  // With `compares` the target has a file of equal size, and nothing is sent before the content differs.
  void set_opened(OpenedFile opened, bool compares);
  const OpenedFile& opened() const { return opened_; }
  bool compares() const { return compares_; }
  void close() { opened_.fd.reset(); }

  // Takes the target's answer to the opening; from now on pieces can be taken.
  void begin(const OpenAnswer& answer, std::uint64_t block_bytes);
  // Returns the transfer that replaces one that the target cannot open like this, or null.
  FileTransferRef reopened_for(const OpenAnswer& answer) const;

  // Pieces. Where the target writes through its page cache, two writers of one file would only spin on its
  // inode's lock, so such a file belongs to the worker that takes its first piece, except where its stream
  // carries less than that (OpenAnswer::one_worker). Several such files keep several workers busy.
  bool belongs_to(const void* worker) const { return worker_ == worker; }
  void leave(const void* worker);  // from now on any worker may take its pieces
  bool waits() const { return pieces_.waits(); }
  // Returns none when there are no more pieces.
  std::optional<Piece> take(const void* worker, const FilePieces::Limits& limits);
  void stream_read(std::size_t bytes, bool at_end) { pieces_.stream_read(bytes, at_end); }
  void chunks_cut(std::uint64_t bytes) { pieces_.chunks_cut(bytes); }
  // Notes that a read met the end of the file before its size.
  void end_early(std::uint64_t end);
  void settle_extent(const PieceAnswer& answer);
  // Returns true if there is something to take again.
  bool settle_span(Spans asked, const PieceAnswer& answer);
  void return_extent(const io::Extent& extent);  // the kernel cannot copy it

  // Says what is left to do when all pieces have come back; `none` as long as some are out.
  enum class LastStep : std::uint8_t { none, commit, abandon };
  LastStep last_step() const;

  // The last step.
  std::uint64_t length() const { return byte_stream_ ? pieces_.stream_bytes() : end_; }
  io::Digest digest() const { return digest_.value(); }
  bool ended_early() const { return end_ != opened_.size; }
  // Notes that the file changed. Returns true the first time, when the caller reports it.
  bool note_change() { return !std::exchange(change_told_, true); }
  bool change_was_told() const { return change_told_; }
  // Gives this reading up; the file will be opened anew.
  void read_again() { read_again_ = true; }
  void set_status(const struct stat& status) { opened_.status = status; }
  // Whether it begins anew when it is settled, and none of its bytes count.
  bool begins_anew() const { return !failed_ && (read_again_ || pieces_.differs()); }
  FileTransferRef anew() const;

  std::uint64_t settled_bytes() const { return settled_bytes_; }
  std::uint64_t kept_bytes() const { return kept_bytes_; }  // settled bytes that the target had already
  std::uint64_t surplus() const { return pieces_.surplus(); }
  std::uint64_t block_bytes() const { return pieces_.block_bytes(); }
  std::uint64_t chunk_average() const { return pieces_.chunk_average(); }

 private:
  Item item_;
  bool byte_stream_ = false;
  unsigned readings_ = 1;
  bool sends_holes_ = false;
  bool was_compared_ = false;
  std::uint64_t id_ = 0;
  OpenedFile opened_;
  bool compares_ = false;

  FilePieces pieces_;
  bool one_worker_ = false;
  const void* worker_ = nullptr;
  std::uint32_t outstanding_ = 0;  // pieces handed out and not settled
  bool failed_ = false;            // the last step is to abandon it
  std::uint64_t end_ = 0;          // its size, or where a read met its end before that
  io::FileDigest digest_;
  std::uint64_t settled_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  bool change_told_ = false;
  bool read_again_ = false;
};

}  // namespace rdcp::tree
