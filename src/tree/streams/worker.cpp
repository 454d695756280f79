#include "tree/streams/worker.h"

#include <algorithm>

#include "io/locked_memory.h"

namespace rdcp::tree {

void RegisteredFiles::detach() {
  for (Place& place : places_) {
    if (place.index >= 0) ring_.detach(std::exchange(place.index, -1));
  }
}

RegisteredFiles::Use RegisteredFiles::find(std::uint64_t file_id, io::RingFile& file) {
  Place* oldest = nullptr;
  for (Place& place : places_) {
    if (place.index >= 0 && place.file_id == file_id) {
      place.last_used = ++clock_;
      file.index = place.index;
      return Use(&place.users);
    }
    if (place.users == 0 && (oldest == nullptr || place.last_used < oldest->last_used)) oldest = &place;
  }
  file.index = -1;
  if (oldest == nullptr) return Use(nullptr);
  if (oldest->index >= 0) ring_.detach(oldest->index);
  *oldest = {.file_id = file_id, .index = ring_.attach(file.fd), .users = 0, .last_used = ++clock_};
  file.index = oldest->index;
  return Use(oldest->index >= 0 ? &oldest->users : nullptr);
}

io::Result<void> drive(io::Ring& ring, net::Stream& stream, const std::vector<io::Task>& tasks,
                       const std::function<bool()>& each_turn) {
  const auto all_done = [&] {
    return std::all_of(tasks.begin(), tasks.end(), [](const io::Task& task) { return task.done(); });
  };
  io::Clock::time_point next_check = io::Clock::now() + std::chrono::seconds(1);
  bool going = true;
  while ((going && !all_done()) || !stream.idle()) {
    const auto turned = ring.run_once(std::chrono::milliseconds(500));
    if (!turned) return turned;
    going = each_turn();
    if (io::Clock::now() >= next_check) {
      next_check = io::Clock::now() + std::chrono::seconds(1);
      stream.check_connection(io::Clock::now());
    }
  }
  return {};
}

void offer_arena(io::Ring& ring, const io::Arena& arena, const net::Stream& stream, std::size_t streams) {
  constexpr std::uint64_t kTimes = 4;  // for the device, what is packed for it, the ring and queues
  if (stream.locks_arena() && kTimes * streams * arena.all().size() > io::lockable_bytes()) {
    ring.keep_arena_unregistered();
  } else {
    ring.offer_arena(arena.all());
  }
}

net::Frame bare_frame(net::FrameKind kind, std::uint64_t file_id) {
  net::Frame frame;
  frame.kind = kind;
  frame.file_id = file_id;
  return frame;
}

}  // namespace rdcp::tree
