#include "io/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <limits>

namespace rdcp::io {
namespace {

// The size of huge pages on x86, and on arm64 with 4K pages.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Maps `bytes` at an address where a huge page may start: maps too much, then unmaps the rest. Returns
// nullptr, with errno set, if it fails.
std::byte* map_aligned(std::size_t bytes) {
  const std::size_t mapped_bytes = bytes + kHugePageBytes;
  void* mapped = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(start) % kHugePageBytes;
  const std::size_t before = misalignment == 0 ? 0 : kHugePageBytes - misalignment;
  if (before > 0) ::munmap(start, before);
  ::munmap(start + before + bytes, kHugePageBytes - before);
  return start + before;
}

}  // namespace

Result<Arena> Arena::create(std::size_t slot_count, std::size_t slot_bytes) {
  assert(slot_bytes % kPageBytes == 0);
  const std::string subject = fmt::format("{} slots of {} bytes", slot_count, slot_bytes);
  if (slot_count == 0 || slot_bytes == 0) return errno_error("allocate", subject, EINVAL);
  if (slot_count > (std::numeric_limits<std::size_t>::max() - kHugePageBytes) / slot_bytes) {
    return errno_error("allocate", subject, ENOMEM);
  }
  const std::size_t bytes = slot_count * slot_bytes;
  std::byte* base = map_aligned(bytes);
  if (base == nullptr) return errno_error("allocate", subject);
  // This is only advice. Kernels without transparent huge pages refuse it.
  ::madvise(base, bytes, MADV_HUGEPAGE);
  // A child forked for ssh must not turn pages that the NIC writes to into copy-on-write pages
  // (ibv_fork_init(3)).
  ::madvise(base, bytes, MADV_DONTFORK);
  return Arena(base, slot_count, slot_bytes);
}

Arena::Arena(Arena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      slot_count_(std::exchange(other.slot_count_, 0)),
      slot_bytes_(std::exchange(other.slot_bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(slot_count_, other.slot_count_);
  std::swap(slot_bytes_, other.slot_bytes_);
  return *this;
}

Arena::~Arena() {
  if (base_ != nullptr) ::munmap(base_, slot_count_ * slot_bytes_);
}

}  // namespace rdcp::io
