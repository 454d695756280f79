#include "io/uring.h"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace rdcp::io {
namespace {

// A worker has at most this many large files registered at once; any more are used unregistered.
constexpr int kFileTableSize = 64;

// The largest single buffer that io_uring_register(2) takes.
constexpr std::size_t kLargestBufferBytes = std::size_t{1} << 30;

// A submission entry's length has 32 bits. A larger transfer is done in parts of this size.
constexpr std::size_t kLargestTransferBytes = std::size_t{1} << 30;

// The tags of completions that belong to no operation, and hence carry no pointer.
constexpr std::uint64_t kWakeTag = 0;
constexpr std::uint64_t kCancelTag = 1;

// The setup flags that kernels offer, the best first. With them completions run when we ask for them, instead
// of interrupting us, and TASKRUN_FLAG shows without a system call if there are any.
constexpr std::array kSetupFlags = {
    // Linux 6.1
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_SUBMIT_ALL,
    // Linux 5.19
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
    0U,
};

int queue_init(unsigned depth, io_uring* ring) {
  int result = -EINVAL;
  for (const unsigned flags : kSetupFlags) {
    result = io_uring_queue_init(depth, ring, flags | IORING_SETUP_CLAMP);
    if (result != -EINVAL) break;
  }
  return result;
}

// True for errors that pass: a timeout, a signal, memory that is short for a moment, a completion queue that
// must be emptied first.
bool is_transient(int result) {
  return result == -ETIME || result == -EINTR || result == -EAGAIN || result == -EBUSY;
}

__kernel_timespec to_kernel_timespec(Clock::duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(duration - seconds).count()};
}

}  // namespace

Result<std::unique_ptr<Ring>> Uring::create(unsigned depth) {
  std::unique_ptr<Uring> ring(new Uring());
  if (Result<void> opened = ring->open_wake_fd(); !opened) return std::move(opened).error();
  if (Result<void> set = ring->set_up(std::max(depth, 1U)); !set) return std::move(set).error();
  return std::unique_ptr<Ring>(std::move(ring));
}

Result<void> Uring::set_up(unsigned depth) {
  const int result = queue_init(depth, &ring_);
  if (result < 0) return errno_error("io_uring_setup", "", -result);
  set_up_ = true;
  // Without this feature (before Linux 5.11) a wait with a timeout would need an entry of its own.
  if ((ring_.features & IORING_FEAT_EXT_ARG) == 0) {
    return plain_error(ErrorKind::file, "io_uring_setup", "", "Linux 5.11 or later is needed");
  }
  under_way_.reserve(ring_.cq.ring_entries);
  register_file_table();
  return {};
}

Uring::~Uring() {
  if (!set_up_) return;
  cancel_all();
  io_uring_queue_exit(&ring_);
}

std::string Uring::description() const {
  return "io_uring" + arena_refusal_;
}

// A table of empty entries, -1, also works on kernels without IORING_RSRC_REGISTER_SPARSE (5.19).
void Uring::register_file_table() {
  std::array<int, kFileTableSize> files;
  files.fill(-1);
  if (io_uring_register_files(&ring_, files.data(), files.size()) < 0) return;
  for (int index = kFileTableSize - 1; index >= 0; --index) free_file_indexes_.push_back(index);
}

int Uring::attach(int fd) {
  if (free_file_indexes_.empty()) return -1;
  const int index = free_file_indexes_.back();
  if (io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &fd, 1) != 1) return -1;
  free_file_indexes_.pop_back();
  return index;
}

void Uring::detach(int index) {
  if (index < 0) return;
  const int none = -1;
  io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &none, 1);
  free_file_indexes_.push_back(index);
}

void Uring::register_arena(std::span<std::byte> arena) {
  assert(arena_.empty());
  std::vector<iovec> pieces;
  for (std::size_t at = 0; at < arena.size(); at += kLargestBufferBytes) {
    pieces.push_back({arena.data() + at, std::min(kLargestBufferBytes, arena.size() - at)});
  }
  const int result = io_uring_register_buffers(&ring_, pieces.data(), static_cast<unsigned>(pieces.size()));
  if (result == 0) {
    arena_ = arena;
  } else if (result == -ENOMEM) {
    keep_arena_unregistered();
  } else {
    arena_refusal_ = fmt::format(", arena not registered: {}", strerrordesc_np(-result));
  }
}

void Uring::offer_arena(std::span<std::byte> arena) {
  const bool any_time = (ring_.features & IORING_FEAT_RSRC_TAGS) != 0;  // Linux 5.13
  if (any_time) {
    offered_arena_ = arena;
  } else {
    register_arena(arena);
  }
}

void Uring::keep_arena_unregistered() {
  arena_refusal_ = ", arena not registered: raise the memlock limit (ulimit -l)";
}

// Returns the index of the registered buffer that holds all of `data`, or -1.
int Uring::buffer_index(const std::byte* data, std::size_t bytes) const {
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  const auto arena_start = reinterpret_cast<std::uintptr_t>(arena_.data());
  if (start < arena_start || start + bytes > arena_start + arena_.size()) return -1;
  const std::size_t first = (start - arena_start) / kLargestBufferBytes;
  const std::size_t last = (start - arena_start + bytes - 1) / kLargestBufferBytes;
  return first == last ? static_cast<int>(first) : -1;
}

Result<void> Uring::wait(Clock::duration max_wait) {
  if (Result<void> filled = fill_queue(); !filled) return filled;
  int result = 0;
  if (max_wait > Clock::duration::zero()) {
    io_uring_cqe* unused = nullptr;
    __kernel_timespec timeout = to_kernel_timespec(max_wait);
    result = io_uring_submit_and_wait_timeout(&ring_, &unused, 1, &timeout, nullptr);
  } else if (io_uring_sq_ready(&ring_) > 0) {
    result = io_uring_submit_and_get_events(&ring_);
  }
  reap();
  if (result < 0 && !is_transient(result)) return errno_error("io_uring_enter", "", -result);
  return {};
}

// Turns queued operations into submission entries. The caller submits the last batch of them.
Result<void> Uring::fill_queue() {
  while (!queued_.empty() || !wake_poll_armed_) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
      const int result = io_uring_submit(&ring_);
      if (result > 0) continue;
      if (result == 0 || is_transient(result)) return {};
      return errno_error("io_uring_enter", "", -result);
    }
    if (!wake_poll_armed_) {
      io_uring_prep_poll_add(sqe, wake_fd(), POLLIN);
      io_uring_sqe_set_data64(sqe, kWakeTag);
      wake_poll_armed_ = true;
    } else {
      prepare(sqe, static_cast<Operation&>(*queued_.pop()));
    }
  }
  return {};
}

void Uring::prepare(io_uring_sqe* sqe, Operation& operation) {
  const RingFile& file = operation.file();
  if (operation.kind() == Operation::Kind::poll) {
    io_uring_prep_poll_add(sqe, file.fd, static_cast<unsigned short>(operation.events()));
  } else {
    prepare_transfer(sqe, operation);
    if (file.beside) sqe->flags |= IOSQE_ASYNC;  // or the thread that submits it would read it at once
    if (file.index >= 0) {
      sqe->fd = file.index;
      sqe->flags |= IOSQE_FIXED_FILE;
    }
  }
  io_uring_sqe_set_data(sqe, &operation);
  begin(operation);
}

void Uring::prepare_transfer(io_uring_sqe* sqe, const Operation& operation) {
  const int fd = operation.file().fd;
  std::byte* data = operation.rest();
  const auto bytes = static_cast<unsigned>(std::min(operation.rest_bytes(), kLargestTransferBytes));
  const std::uint64_t offset = operation.rest_offset();
  if (offset != kNoOffset && !offered_arena_.empty()) register_arena(std::exchange(offered_arena_, {}));
  // Registered buffers save the pinning for direct I/O, but not every pipe-like file takes them.
  const int buffer = offset == kNoOffset ? -1 : buffer_index(data, bytes);
  const bool read = operation.kind() == Operation::Kind::read;
  if (buffer >= 0 && read) {
    io_uring_prep_read_fixed(sqe, fd, data, bytes, offset, buffer);
  } else if (buffer >= 0) {
    io_uring_prep_write_fixed(sqe, fd, data, bytes, offset, buffer);
  } else if (read) {
    io_uring_prep_read(sqe, fd, data, bytes, offset);
  } else {
    io_uring_prep_write(sqe, fd, data, bytes, offset);
  }
}

// The kernel's threads behind io_uring count as the user's (ulimit -u). If none can be started, the kernel
// cancels what it would have given to them, so such a transfer is made by a plain call here. We ourselves
// cancel only at the end.
long Uring::call_instead(const Operation& operation) {
  return operation.kind() == Operation::Kind::poll ? -ECANCELED : operation.call();
}

void Uring::reap() {
  std::array<io_uring_cqe*, 64> completions;
  while (const unsigned count = io_uring_peek_batch_cqe(&ring_, completions.data(), completions.size())) {
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t tag = completions[i]->user_data;
      const long result = completions[i]->res;
      if (tag == kWakeTag) {
        wake_poll_armed_ = false;
        drain_wake_fd();
      } else if (tag != kCancelTag) {
        Operation& operation = *reinterpret_cast<Operation*>(tag);
        end(operation);
        complete(operation, result == -ECANCELED ? call_instead(operation) : result);
      }
    }
    io_uring_cq_advance(&ring_, count);
  }
}

void Uring::begin(Operation& operation) {
  operation.set_note(static_cast<long>(under_way_.size()));
  under_way_.push_back(&operation);
}

void Uring::end(Operation& operation) {
  const auto place = static_cast<std::size_t>(operation.note());
  under_way_.back()->set_note(operation.note());
  under_way_[place] = under_way_.back();
  under_way_.pop_back();
}

// The kernel may go on writing into buffers after io_uring_queue_exit() has returned, so everything is
// awaited here. Operations are cancelled one by one, because IORING_ASYNC_CANCEL_ANY needs Linux 5.19. The
// operations themselves are not touched any more.
void Uring::cancel_all() {
  std::size_t remaining = under_way_.size();
  int result = 0;
  while (remaining > 0 && (result >= 0 || is_transient(result))) {
    while (!under_way_.empty()) {
      io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
      if (sqe == nullptr) break;
      io_uring_prep_cancel(sqe, under_way_.back(), 0);
      io_uring_sqe_set_data64(sqe, kCancelTag);
      under_way_.pop_back();
    }
    result = io_uring_submit_and_wait(&ring_, under_way_.empty() ? 1 : 0);
    io_uring_cqe* completion;
    while (io_uring_peek_cqe(&ring_, &completion) == 0) {
      if (completion->user_data != kWakeTag && completion->user_data != kCancelTag) --remaining;
      io_uring_cqe_seen(&ring_, completion);
    }
  }
}

}  // namespace rdcp::io
