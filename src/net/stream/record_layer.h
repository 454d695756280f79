// What a stream's frames and payloads are wrapped in on the wire: compressed, then sealed, each where it was
// agreed on. Every stream has one; by default it changes nothing.
//
// Sealed, a message is followed by its tag; of a payload the tag travels within its frame, which is sealed
// itself. A frame and its payload bear the same number (SealPart tells them apart), and so does every other
// message of a stream; each direction counts from 0.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "net/crypto/seal.h"
#include "net/stream/compress.h"
#include "net/stream/frame.h"

namespace rdcp::net {

inline constexpr std::size_t kSealedFrameBytes = kFrameBytes + kTagBytes;

// A message as it goes over the wire.
class WireMessage {
 public:
  std::span<std::byte> room(std::size_t bytes) { return std::span(bytes_).first(size_ = bytes); }
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kSealedFrameBytes> bytes_;
  std::size_t size_ = 0;
};

class RecordLayer {
 public:
  RecordLayer() = default;
  // source: this side sends payloads, the other gets them. Errors: no such compression (protocol), OpenSSL
  // or memory (connection).
  static io::Result<RecordLayer> create(const std::optional<SealKeys>& seal, Compression compression,
                                        bool source);

  bool seals() const { return sealer_.has_value(); }
  // Payloads may be packed.
  bool packs() const { return compressor_ || decompressor_; }
  // Only while the network limits the stream.
  bool packs_for_slow_links() const { return automatic_; }
  // Unpacked bytes a second.
  double packing_speed() const { return compressor_ ? compressor_->bytes_per_second() : 0; }
  std::size_t frame_bytes() const { return seals() ? kSealedFrameBytes : kFrameBytes; }

  // Source. Makes of the frame and payload what travels: afterwards `payload` lies in `room`, as long as it
  // was, if it was packed or sealed, else where it was. Sets frame.packed and frame.tag. Error (connection):
  // see Sealer.
  io::Result<WireMessage> wrap(Frame& frame, std::span<const std::byte>& payload, std::span<std::byte> room,
                               bool may_pack);
  // Nothing that wrap() does needs room.
  bool travels_as_it_is() const { return !seals() && !packs(); }
  io::Result<WireMessage> wrap(const Frame& frame);
  // Any other message of at most kFrameBytes.
  io::Result<WireMessage> wrap_message(std::span<const std::byte> message);

  // The other side. Messages are opened in their order, and a frame's payload before the next message.
  // Errors: what arrived is not what was sent (digest); no frame, or one with what was not agreed on
  // (protocol).
  io::Result<Frame> open_frame(std::span<const std::byte> message);
  // The message within; valid until the next call.
  io::Result<std::span<const std::byte>> open_message(std::span<const std::byte> message);
  // The payload of the last frame: `arrived`, of wire_bytes(frame), to `slot`, of frame.length. They are the
  // same, or do not overlap. Sealed and packed, it is opened within `arrived`. Without a seal a payload that
  // does not unpack is left to its digest, which then is wrong.
  io::Result<void> open_payload(const Frame& frame, std::span<std::byte> arrived, std::span<std::byte> slot);

 private:
  std::optional<Sealer> sealer_;
  std::optional<Opener> opener_;
  std::optional<Compressor> compressor_;
  std::optional<Decompressor> decompressor_;
  bool automatic_ = false;
  bool begun_ = false;  // a message was opened
  FrameBytes opened_;
};

}  // namespace rdcp::net
