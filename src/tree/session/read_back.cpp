#include "tree/session/read_back.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rdcp::tree {
namespace {

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

ReadBackFile open_read_back(int fd) {
  ReadBackFile back;
  back.opened = io::reopen_direct(fd);
  back.file = {.fd = back.opened ? back.opened.get() : fd, .direct = static_cast<bool>(back.opened)};
  back.from_disk = back.file.direct;
  return back;
}

ReadBackFile turn_to_read_back(int fd) {
  ReadBackFile back;
  back.file.fd = fd;
  if (io::supports_direct(fd) && ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_DIRECT) == 0) {
    back.file.direct = true;
    // The disk begins now with what the read would only wait for.
    (void)::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  } else {
    back.from_disk = io::drop_pages(fd);
    back.file.resident = !back.from_disk;
  }
  return back;
}

bool matches(std::span<const ArchiveReader::Block> blocks, std::uint64_t offset,
             std::span<const std::byte> found) {
  for (const ArchiveReader::Block& block : blocks) {
    if (block.offset + block.bytes.size() <= offset) continue;
    if (block.offset > offset) {
      const std::uint64_t hole = std::min<std::uint64_t>(block.offset - offset, found.size());
      if (!is_zero(found.first(hole))) return false;
      found = found.subspan(hole);
      offset += hole;
      if (found.empty()) return true;
    }
    const std::span<const std::byte> rest = block.bytes.subspan(offset - block.offset);
    const std::size_t bytes = std::min(rest.size(), found.size());
    if (bytes > 0 && std::memcmp(rest.data(), found.data(), bytes) != 0) return false;
    found = found.subspan(bytes);
    offset += bytes;
    if (found.empty()) return true;
  }
  return is_zero(found);
}

io::Result<void> ReadBack::start() {
  auto buffers = io::Arena::create(kReaders, kBufferBytes);
  if (!buffers) return buffers.error();
  buffers_ = std::move(*buffers);
  for (std::size_t i = 0; i < kReaders; ++i) readers_.push_back(reader(buffers_->slot(i)));
  for (io::Task& reader : readers_) reader.start();
  return {};
}

void ReadBack::add(ReadBackCheck& check, ReadBackGroup& group) {
  check.group = &group;
  ++group.pending;
  queue_.push_back(&check);
  idle_.wake_one();
}

// Never ends: a worker's ring is driven until the worker's slots are done, and they wait for their groups.
io::Task ReadBack::reader(std::span<std::byte> buffer) {
  for (;;) {
    while (queue_.empty()) co_await idle_.wait();
    ReadBackCheck& check = *queue_.front();
    queue_.pop_front();
    std::uint64_t at = 0;
    while (at < check.size && check.equal) {
      const std::uint64_t left = check.size - at;
      const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), io::round_up(left, io::kPageBytes));
      const io::IoResult read = co_await ring_.read(check.from.file, buffer.first(wanted), at);
      const std::size_t bytes = std::min<std::uint64_t>(read.bytes, left);
      check.error = read.error;
      check.equal = read.error == 0 && bytes > 0 && matches(check.blocks, at, buffer.first(bytes));
      at += bytes;
    }
    if (--check.group->pending == 0) waiting_.wake_all();
  }
}

}  // namespace rdcp::tree
