#include "io/frame_pool.h"

#include <sanitizer/asan_interface.h>

#include <array>
#include <new>

namespace rdcp::io {
namespace {

// Sizes are rounded up to a multiple of this; what is larger than all lists is allocated each time.
constexpr std::size_t kUnitBytes = 128;
constexpr std::size_t kLists = 32;

struct FreeFrame {
  FreeFrame* next;
};

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (std::size_t list = 0; list < kLists; ++list) {
      while (void* frame = pop(list)) ::operator delete(frame);
    }
  }
  void* take(std::size_t list) {
    void* frame = pop(list);
    return frame != nullptr ? frame : ::operator new(bytes_of(list));
  }
  void give_back(void* frame, std::size_t list) noexcept {
    free_[list] = new (frame) FreeFrame{free_[list]};
    ASAN_POISON_MEMORY_REGION(frame, bytes_of(list));
  }

 private:
  static std::size_t bytes_of(std::size_t list) { return (list + 1) * kUnitBytes; }
  void* pop(std::size_t list) {
    FreeFrame* frame = free_[list];
    if (frame == nullptr) return nullptr;
    ASAN_UNPOISON_MEMORY_REGION(frame, bytes_of(list));
    free_[list] = frame->next;
    return frame;
  }

  std::array<FreeFrame*, kLists> free_{};
};

thread_local Pool pool;

std::size_t list_of(std::size_t bytes) {
  return (bytes - 1) / kUnitBytes;
}

}  // namespace

void* take_frame(std::size_t bytes) {
  const std::size_t list = list_of(bytes);
  return list < kLists ? pool.take(list) : ::operator new(bytes);
}

void give_back_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t list = list_of(bytes);
  if (list < kLists) {
    pool.give_back(frame, list);
  } else {
    ::operator delete(frame);
  }
}

}  // namespace rdcp::io
