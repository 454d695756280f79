// A stream's record layer: honest frames and payloads arrive as they were sent, whether packed, sealed or
// both. On a sealed stream, what was changed on the way is never opened. A peer that holds the keys may send
// any message and any packed payload; nothing is written but in the slot, and what is told of it is right.
// The choices are a series of frames and what becomes of them.
#include <algorithm>
#include <optional>

#include "io/digest.h"
#include "net/rdma/rdma_stream.h"
#include "net/stream/record_layer.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {
namespace {

using namespace rdcp::net;

struct Wire {
  std::vector<std::byte> message, payload;
};

SealKeys keys_of(bool here, Cipher cipher) {
  SealKeys keys;
  keys.cipher = cipher;
  (here ? keys.sending : keys.receiving).fill(std::byte{1});
  (here ? keys.receiving : keys.sending).fill(std::byte{2});
  return keys;
}

Frame frame_for(std::span<const std::byte> payload) {
  Frame frame;
  frame.kind = FrameKind::data;
  frame.slot = 1;
  frame.file_id = 7;
  frame.length = static_cast<std::uint32_t>(payload.size());
  frame.digest = io::digest_of(payload);
  return frame;
}

// A payload that repeats a short piece, as files do, or is as the choices are.
std::vector<std::byte> payload_of(Choices& choices) {
  const std::string_view piece = choices.piece();
  const std::size_t times = 1 + choices.below(32);
  std::vector<std::byte> payload;
  for (std::size_t i = 0; i < times; ++i)
    payload.insert(payload.end(), bytes_of(piece).begin(), bytes_of(piece).end());
  if (payload.empty()) payload.push_back(std::byte{0});
  return payload;
}

class Streams {
 public:
  explicit Streams(Choices& choices)
      : seals(choices.flag()),
        packs(choices.flag()),
        cipher(choices.flag() ? Cipher::aes_256_gcm : Cipher::chacha20_poly1305),
        from(make(true)),
        to(make(false)) {}

  // Sends an honest frame, of which a byte may change on the way. False if the stream has ended.
  bool send(Choices& choices) {
    const std::vector<std::byte> payload = payload_of(choices);
    std::vector<std::byte> room(payload.size());
    Frame frame = frame_for(payload);
    std::span<const std::byte> travels = payload;
    const auto message = from.wrap(frame, travels, room, packs);
    require(message.ok() && travels.size() == wire_bytes(frame));
    Wire wire{exact_copy(message->bytes()), exact_copy(travels)};
    const bool changed = choices.below(4) == 3;
    if (changed) {
      auto& where = choices.flag() ? wire.message : wire.payload;
      where[choices.number<std::uint16_t>() % where.size()] ^=
          std::byte{choices.number<std::uint8_t>()} | std::byte{1};
    }
    std::vector<std::byte> slot(payload.size());
    const bool opened = receive(wire, slot);
    require(changed ? !(opened && seals) : opened && slot == payload);
    return opened;
  }

  // A peer that has the keys wraps any bytes as a frame, and any payload behind it.
  bool send_anything(Choices& choices) {
    const std::string_view text = choices.piece().substr(0, kFrameBytes);
    std::vector<std::byte> header = exact_copy(bytes_of(text));
    std::vector<std::byte> packed = exact_copy(bytes_of(choices.long_piece()));
    Frame frame = frame_for(packed);
    const bool well_formed = choices.flag() && !packed.empty();
    if (well_formed) {
      frame.length += 1 + choices.number<std::uint16_t>();
      frame.packed = static_cast<std::uint32_t>(packed.size());
      if (seals) require(sealer().seal(SealPart::payload, packed, frame.tag).ok());
      header = exact_copy(encode(frame));
    }
    if (seals) {
      const auto sealed = seal_message(header);
      header = sealed;
    }
    std::vector<std::byte> slot(well_formed ? frame.length : 0);
    return receive({header, packed}, slot);
  }

 private:
  RecordLayer make(bool source) {
    const auto keys = seals ? std::optional(keys_of(source, cipher)) : std::nullopt;
    return std::move(RecordLayer::create(keys, packs ? 1 : kCompressOff, source)).value();
  }

  // What a peer seals by itself has the number that is due.
  Sealer& sealer() {
    own_sealer.emplace(std::move(Sealer::create(cipher, keys_of(true, cipher).sending, number)).value());
    return *own_sealer;
  }
  std::vector<std::byte> seal_message(std::span<const std::byte> header) {
    std::vector<std::byte> message(header.size() + kTagBytes);
    std::ranges::copy(header, message.begin());
    const std::span<std::byte> all(message);
    require(sealer().seal(SealPart::frame, all.first(header.size()), all.last<kTagBytes>()).ok());
    return message;
  }

  bool receive(Wire wire, std::span<std::byte> slot) {
    ++number;
    const auto frame = to.open_frame(wire.message);
    if (!frame) return false;
    require(decode(encode(*frame)).ok() && (frame->packed == 0 || packs) && (frame->tag == Tag{} || seals));
    // As a target does: the payload's length must be what travels, and the slot's what it becomes.
    if (!has_payload(frame->kind) || wire_bytes(*frame) != wire.payload.size() ||
        frame->length != slot.size())
      return false;
    const bool packed = frame->packed != 0;
    std::vector<std::byte> arrived = packed ? wire.payload : std::vector<std::byte>();
    if (!packed) std::ranges::copy(wire.payload, slot.begin());
    return to.open_payload(*frame, packed ? std::span(arrived) : slot, slot).ok();
  }

  const bool seals, packs;
  const Cipher cipher;
  RecordLayer from, to;
  std::uint64_t number = 0;
  std::optional<Sealer> own_sealer;
};

// The first message of an RDMA target.
void read_region(Bytes message) {
  const auto region = decode_region(message);
  if (region) require(std::ranges::equal(encode(*region), message));
}

}  // namespace

void fuzz_record(Bytes input) {
  read_region(input);
  Choices choices(input);
  Streams streams(choices);
  // After a message of its own making a peer's numbers are no longer those of its record layer.
  bool sound = true;
  while (sound && choices.more() && choices.below(3) != 2) sound = streams.send(choices);
  while (sound && choices.more()) sound = streams.send_anything(choices);
}

}  // namespace rdcp::fuzz
