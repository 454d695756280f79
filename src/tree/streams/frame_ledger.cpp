#include "tree/streams/frame_ledger.h"

#include <array>

#include "io/bytes.h"

namespace rdcp::tree {

net::Sha256 identity_of(const net::Frame& frame, std::span<const std::byte> payload) {
  std::array<std::byte, 1 + 1 + 4 + 8 + 8 + sizeof frame.extra.bytes> header;
  io::ByteWriter to(header);
  to.number(static_cast<std::uint8_t>(frame.kind));
  to.number(static_cast<std::uint8_t>(frame.flags & ~net::kFlagAgain));
  to.number(frame.length);
  to.number(frame.file_id);
  to.number(frame.offset);
  to.digest(frame.extra);
  return net::sha256_of({header, payload});
}

void SentFrames::send(const net::Sha256& frame) {
  const std::lock_guard lock(mutex_);
  under_way_.insert(frame);
}

void SentFrames::settle(const net::Sha256& frame) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(frame);
  settled_.add(frame);
}

void SentFrames::take_back(const net::Sha256& frame) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(frame);
}

Ledger SentFrames::tell() const {
  const std::lock_guard lock(mutex_);
  return {.sum = settled_.bytes(), .under_way = {under_way_.begin(), under_way_.end()}};
}

void ReceivedFrames::add(const net::Sha256& frame) {
  const std::lock_guard lock(mutex_);
  received_.add(frame);
}

Ledger ReceivedFrames::tell() const {
  const std::lock_guard lock(mutex_);
  return {.sum = received_.bytes(), .under_way = {}};
}

bool agree(const Ledger& sent, const Ledger& received) {
  return net::differ_by_some(net::SetHash::of_bytes(sent.sum), net::SetHash::of_bytes(received.sum),
                             sent.under_way);
}

}  // namespace rdcp::tree
