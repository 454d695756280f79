#include "net/stream/record_layer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace rdcp::net {
namespace {

io::Error altered() {
  return io::plain_error(
      io::ErrorKind::digest, "open", "message",
      "encrypted data arrived altered, repeated or out of order: somebody may be tampering "
      "with the connection");
}

io::Error not_agreed(const char* what) {
  return io::plain_error(io::ErrorKind::protocol, "read", "frame", what);
}

// AES-256-GCM, the digest and TCP's copy take a thread a nanosecond for each byte; zstd takes longer.
constexpr double kWrappedBytesPerSecond = 1e9;

}  // namespace

std::optional<double> RecordLayer::rate_max() const {
  return travels_as_it_is() ? std::nullopt : std::optional(kWrappedBytesPerSecond);
}

io::Result<RecordLayer> RecordLayer::create(const std::optional<SealKeys>& seal, Compression compression,
                                            bool source) {
  RecordLayer made;
  if (!is_compression(compression)) {
    return io::plain_error(io::ErrorKind::protocol, "compress", "stream", "there is no such level");
  }
  if (seal) {
    auto sealer = Sealer::create(seal->cipher, seal->sending);
    if (!sealer) return sealer.error();
    auto opener = Opener::create(seal->cipher, seal->receiving);
    if (!opener) return opener.error();
    made.sealer_ = std::move(*sealer);
    made.opener_ = std::move(*opener);
  }
  if (compression == kCompressOff) return made;
  if (source) {
    made.automatic_ = compression == kCompressAuto;
    auto compressor = Compressor::create(made.automatic_ ? 1 : compression);
    if (!compressor) return compressor.error();
    made.compressor_ = std::move(*compressor);
  } else {
    auto decompressor = Decompressor::create();
    if (!decompressor) return decompressor.error();
    made.decompressor_ = std::move(*decompressor);
  }
  return made;
}

io::Result<WireMessage> RecordLayer::wrap(Frame& frame, std::span<const std::byte>& payload,
                                          std::span<std::byte> room, bool may_pack) {
  assert(payload.size() == frame.length && frame.packed == 0 && frame.tag == Tag{});
  if (compressor_ && may_pack && !payload.empty()) {
    frame.packed = static_cast<std::uint32_t>(compressor_->pack(payload, room));
    if (frame.packed > 0) payload = room.first(frame.packed);
  }
  if (sealer_ && !payload.empty()) {
    const std::span<std::byte> to = room.first(payload.size());
    const auto sealed = sealer_->seal(SealPart::payload, payload, to, frame.tag);
    if (!sealed) return sealed.error();
    payload = to;
  }
  return wrap_message(encode(frame));
}

io::Result<WireMessage> RecordLayer::wrap(const Frame& frame) {
  return wrap_message(encode(frame));
}

io::Result<WireMessage> RecordLayer::wrap_message(std::span<const std::byte> message) {
  WireMessage wire;
  assert(message.size() <= kFrameBytes);
  const std::span<std::byte> room = wire.room(message.size() + (seals() ? kTagBytes : 0));
  std::ranges::copy(message, room.begin());
  if (!seals()) return wire;
  auto sealed = sealer_->seal(SealPart::frame, room.first(message.size()), room.last<kTagBytes>());
  if (sealed) sealed = sealer_->next();
  if (!sealed) return sealed.error();
  return wire;
}

io::Result<std::span<const std::byte>> RecordLayer::open_message(std::span<const std::byte> message) {
  if (!seals()) return message;
  // The last frame's number was also its payload's, so the next number begins only now.
  if (begun_) {
    if (auto next = opener_->next(); !next) return next.error();
  }
  begun_ = true;
  if (message.size() < kTagBytes || message.size() > kSealedFrameBytes) return altered();
  const std::span<std::byte> to = std::span(opened_).first(message.size() - kTagBytes);
  if (!opener_->open(SealPart::frame, message.first(to.size()), to, message.last<kTagBytes>())) {
    return altered();
  }
  return std::span<const std::byte>(to);
}

io::Result<Frame> RecordLayer::open_frame(std::span<const std::byte> message) {
  const auto opened = open_message(message);
  if (!opened) return opened.error();
  if (opened->size() != kFrameBytes) return not_agreed("not a frame");
  auto frame = decode(opened->first<kFrameBytes>());
  if (!frame) return frame;
  if (frame->packed != 0 && !decompressor_)
    return not_agreed("a compressed payload, which was not agreed on");
  if (frame->tag != Tag{} && !seals()) return not_agreed("a sealed payload, which was not agreed on");
  return frame;
}

io::Result<void> RecordLayer::open_payload(const Frame& frame, std::span<std::byte> arrived,
                                           std::span<std::byte> slot) {
  assert(arrived.size() == wire_bytes(frame) && slot.size() == frame.length);
  const bool packed = frame.packed != 0;
  if (seals() && frame.length > 0) {
    const std::span<std::byte> to = packed ? arrived : slot;
    const bool opened = to.data() == arrived.data()
                            ? opener_->open(SealPart::payload, arrived, to, frame.tag)
                            : opener_->copy_and_open(SealPart::payload, arrived, to, frame.tag);
    if (!opened) return altered();
  }
  if (packed && !decompressor_->unpack(arrived, slot) && seals()) {
    return not_agreed("a compressed payload that does not unpack to its length");
  }
  return {};
}

}  // namespace rdcp::net
