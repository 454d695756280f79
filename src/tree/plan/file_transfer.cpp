#include "tree/plan/file_transfer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace rdcp::tree {

void FileTransfer::set_opened(OpenedFile opened, bool compares) {
  opened_ = std::move(opened);
  compares_ = compares;
  end_ = opened_.size;
  if (byte_stream_) {
    pieces_.begin_stream();
  } else {
    pieces_.begin(opened_.fd.get(), opened_.size, opened_.sparse, opened_.by_kernel);
  }
}

void FileTransfer::begin(const OpenAnswer& answer, std::uint64_t block_bytes) {
  one_worker_ = answer.one_worker;
  if (answer.spans == Spans::probe && (compares_ || answer.written_in_place)) pieces_.cover_holes();
  pieces_.ask(answer.spans, block_bytes, compares_);
}

FileTransferRef FileTransfer::reopened_for(const OpenAnswer& answer) const {
  if (!answer.cannot_compare || (!compares_ && sends_holes_)) return nullptr;
  FileTransferRef again = anew();
  again->sends_holes_ = sends_holes_ || !compares_;
  return again;
}

// Returns a transfer of the same file that starts from its beginning and does not compare any more.
FileTransferRef FileTransfer::anew() const {
  auto again = std::make_shared<FileTransfer>(item_, byte_stream_);
  again->readings_ = readings_ + (read_again_ ? 1 : 0);
  again->was_compared_ = true;
  again->sends_holes_ = sends_holes_;
  return again;
}

void FileTransfer::leave(const void* worker) {
  if (worker_ == worker) worker_ = nullptr;
}

std::optional<Piece> FileTransfer::take(const void* worker, const FilePieces::Limits& limits) {
  if (one_worker_) worker_ = worker;
  if (failed_) {
    pieces_.give_up();
    return std::nullopt;
  }
  const auto piece = pieces_.take(limits);
  if (piece) ++outstanding_;
  return piece;
}

void FileTransfer::end_early(std::uint64_t end) {
  end_ = std::min(end_, end);
}

void FileTransfer::settle_extent(const PieceAnswer& answer) {
  assert(outstanding_ > 0);
  --outstanding_;
  failed_ = failed_ || answer.failed;
  settled_bytes_ += answer.settled_bytes;
  if (answer.data != nullptr) digest_.add(answer.data->offset, answer.data->length, answer.data->digest);
}

bool FileTransfer::settle_span(Spans asked, const PieceAnswer& answer) {
  assert(outstanding_ > 0);
  --outstanding_;
  failed_ = failed_ || answer.failed;
  settled_bytes_ += answer.settled_bytes;
  for (const ProbedPiece& piece : answer.pieces) {
    if (failed_ || !piece.is_present()) continue;
    kept_bytes_ += piece.extent.length;
    if (piece.digest) digest_.add(piece.extent.offset, piece.extent.length, *piece.digest);
  }
  return pieces_.settle_span(asked, answer.pieces, failed_);
}

void FileTransfer::return_extent(const io::Extent& extent) {
  assert(outstanding_ > 0);
  --outstanding_;
  worker_ = nullptr;  // it may be one whose stream is lost
  pieces_.return_extent(extent);
}

FileTransfer::LastStep FileTransfer::last_step() const {
  if (outstanding_ > 0 || !pieces_.all_taken()) return LastStep::none;
  return failed_ || pieces_.differs() ? LastStep::abandon : LastStep::commit;
}

}  // namespace rdcp::tree
