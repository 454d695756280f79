// Wraps a stream's frames and payloads for the wire: compresses them, then seals them, each if it was agreed
// on. Every TCP or RDMA stream has one; by default it changes nothing.
//
// If a stream is sealed, each message is followed by its tag, but a payload's tag travels in its frame, which
// is sealed itself. A frame and its payload have the same number (SealPart tells them apart). Every other
// message of a stream has a number of its own. Each direction counts from 0.
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
  // source is true for the side that sends payloads. Errors: there is no such compression (protocol), OpenSSL
  // refuses or there is no memory (connection).
  static io::Result<RecordLayer> create(const std::optional<SealKeys>& seal, Compression compression,
                                        bool source);

  bool seals() const { return sealer_.has_value(); }
  // True if payloads may be packed.
  bool packs() const { return compressor_ || decompressor_; }
  // True if payloads are packed only while the network limits the stream.
  bool packs_for_slow_links() const { return automatic_; }
  // Returns the compressor's speed in unpacked bytes a second.
  double packing_speed() const { return compressor_ ? compressor_->bytes_per_second() : 0; }
  std::size_t frame_bytes() const { return seals() ? kSealedFrameBytes : kFrameBytes; }

  // At the source: turns a frame and its payload into what travels. A payload that is packed or sealed lies
  // in `room` afterwards, which is as long as the payload was; else it stays where it was. Sets frame.packed
  // and frame.tag. Error (connection): see Sealer.
  io::Result<WireMessage> wrap(Frame& frame, std::span<const std::byte>& payload, std::span<std::byte> room,
                               bool may_pack);
  // True if wrap() never needs room.
  bool travels_as_it_is() const { return !seals() && !packs(); }
  // Returns about how many bytes a second one thread wraps and sends; nothing if they travel as they are.
  std::optional<double> rate_max() const;
  io::Result<WireMessage> wrap(const Frame& frame);
  // Wraps any other message of at most kFrameBytes.
  io::Result<WireMessage> wrap_message(std::span<const std::byte> message);

  // The functions below are for the receiving side. Messages must be opened in their order, and a frame's
  // payload before the next message. Errors: what arrived is not what was sent (digest); it is not a frame,
  // or it uses what was not agreed on (protocol).
  io::Result<Frame> open_frame(std::span<const std::byte> message);
  // Returns the message within, which is valid until the next call.
  io::Result<std::span<const std::byte>> open_message(std::span<const std::byte> message);
  // Opens the payload of the last frame from `arrived`, of wire_bytes(frame), into `slot`, of frame.length.
  // They are the same, or do not overlap; then somebody else may write into `arrived` meanwhile if the
  // payload is not packed. One that is sealed and packed is first opened within `arrived`. Without a seal, a
  // payload that does not unpack is not an error here; its digest will be wrong.
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
