// The memory that holds a worker's slots.
#pragma once

#include <cstddef>
#include <span>

#include "io/result.h"

namespace rdcp::io {

// The unit of slots, direct I/O buffers and offsets. 4096 satisfies STATX_DIOALIGN on every Linux filesystem
// known to us.
inline constexpr std::size_t kPageBytes = 4096;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Holds slot_count slots of slot_bytes each (a multiple of kPageBytes), 4K-aligned, in one mapping for which
// transparent huge pages are requested (madvise MADV_HUGEPAGE). It is allocated once and never grows. Pages
// are touched only as slots are used.
class Arena {
 public:
  static Result<Arena> create(std::size_t slot_count, std::size_t slot_bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  std::size_t slot_count() const { return slot_count_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::span<std::byte> slot(std::size_t index) const { return {base_ + index * slot_bytes_, slot_bytes_}; }
  std::span<std::byte> all() const { return {base_, slot_count_ * slot_bytes_}; }

 private:
  Arena(std::byte* base, std::size_t slot_count, std::size_t slot_bytes)
      : base_(base), slot_count_(slot_count), slot_bytes_(slot_bytes) {}
  std::byte* base_ = nullptr;
  std::size_t slot_count_ = 0;
  std::size_t slot_bytes_ = 0;
};

}  // namespace rdcp::io
