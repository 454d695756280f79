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

// A large file as it was opened.
struct OpenedFile {
  io::Fd fd;
  struct stat seen {};    // as it was then
  struct stat status {};  // what its copy gets
  io::RingFile file;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;  // where in what is open the extents begin: standard input may stand anywhere
  bool sparse = false;      // holes are not sent
  bool by_kernel = false;   // copied within the kernel (copy_range)
};

// What became of a piece that was handed out.
struct PieceAnswer {
  bool failed = false;               // the failure has been reported
  std::uint64_t settled_bytes = 0;   // that the target has now
  const net::Frame* data = nullptr;  // an extent: of the chunk that it was sent as, for the file's digest
  std::span<const ProbedPiece> pieces = {};  // a span
};

// A file sent as parallel chunks. Life: it is made by who finds it and waits in the plan; one worker opens
// it; its pieces are handed out and settled; one worker takes the last step. The plan's mutex is held for
// what happens to pieces; what opening and the last step say is said by their one worker alone.
class FileTransfer {
 public:
  // A file that is looked up when it is opened. byte_stream: it is read to its end, because no size is known
  // beforehand: standard input, a FIFO, a character device, a regular file that has more than it says
  // (/proc).
  explicit FileTransfer(Item item, bool byte_stream = false)
      : item_(std::move(item)), byte_stream_(byte_stream) {}
  // A SRC that is open already. Of `opened` fd, begin and size are set.
  FileTransfer(Item item, OpenedFile opened, bool byte_stream)
      : item_(std::move(item)), byte_stream_(byte_stream), opened_(std::move(opened)) {}

  const Item& item() const { return item_; }
  bool is_byte_stream() const { return byte_stream_; }
  bool sends_holes() const { return sends_holes_; }  // as zeros: written in place, over what is not compared
  bool was_compared() const { return was_compared_; }  // once is enough
  unsigned readings() const { return readings_; }      // this one included
  // What it is called in frames; given when it is handed out to be opened.
  std::uint64_t id() const { return id_; }
  void set_id(std::uint64_t id) { id_ = id; }

  // Opening. What is open already, so that it can be opened (again).
  OpenedFile take_opened() { return std::move(opened_); }
  // compares: the target has a file of equal size; nothing is sent before the content is known to differ.
  void set_opened(OpenedFile opened, bool compares);
  const OpenedFile& opened() const { return opened_; }
  bool compares() const { return compares_; }
  void close() { opened_.fd.reset(); }

  // The target's answer to the opening: pieces can be taken.
  void begin(const OpenAnswer& answer, std::uint64_t block_bytes);
  // What takes the place of a file that the target cannot open like this; null: nothing does.
  FileTransferRef reopened_for(const OpenAnswer& answer) const;

  // Pieces. Written through the target's page cache, two writers of one file would only spin on its inode's
  // lock: such a file belongs to the worker that takes its first piece. Several of them keep several busy.
  bool belongs_to(const void* worker) const { return worker_ == worker; }
  void leave(const void* worker);  // anyone may take its pieces
  bool waits() const { return pieces_.waits(); }
  // None: there are no more.
  std::optional<Piece> take(const void* worker, const FilePieces::Limits& limits);
  void stream_read(std::size_t bytes, bool at_end) { pieces_.stream_read(bytes, at_end); }
  void chunks_cut(std::uint64_t bytes) { pieces_.chunks_cut(bytes); }
  // A read met the end of the file earlier than its size promised.
  void end_early(std::uint64_t end);
  void settle_extent(const PieceAnswer& answer);
  // True: there is something to take again.
  bool settle_span(Spans asked, const PieceAnswer& answer);
  void return_extent(const io::Extent& extent);  // the kernel cannot copy it

  // none: not yet. Nothing is out any more, and what is left to do is this.
  enum class LastStep : std::uint8_t { none, commit, abandon };
  LastStep last_step() const;

  // The last step.
  std::uint64_t length() const { return byte_stream_ ? pieces_.stream_bytes() : end_; }
  io::Digest digest() const { return digest_.value(); }
  bool ended_early() const { return end_ != opened_.size; }
  // True the first time: it is to be reported.
  bool note_change() { return !std::exchange(change_told_, true); }
  bool change_was_told() const { return change_told_; }
  // This reading is given up, and the file is opened anew.
  void read_again() { read_again_ = true; }
  void set_status(const struct stat& status) { opened_.status = status; }
  // It begins anew when it is settled: nothing of it counts.
  bool begins_anew() const { return !failed_ && (read_again_ || pieces_.differs()); }
  FileTransferRef anew() const;

  std::uint64_t settled_bytes() const { return settled_bytes_; }
  std::uint64_t kept_bytes() const { return kept_bytes_; }  // of them: the target had them
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
  bool failed_ = false;            // to be abandoned
  std::uint64_t end_ = 0;          // where it really ended, if before its size
  io::FileDigest digest_;
  std::uint64_t settled_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  bool change_told_ = false;
  bool read_again_ = false;
};

}  // namespace rdcp::tree
