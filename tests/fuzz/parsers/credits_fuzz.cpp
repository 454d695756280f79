// Whatever credits a target sends: a source that has sent frames of all kinds takes only answers that fit
// what it sent, no slot twice, and none after the first fault.
#include <coroutine>
#include <optional>

#include "net/stream/stream.h"
#include "tests/fuzz/targets.h"
#include "tests/net/stream/raw_frame.h"

namespace rdcp::fuzz {
namespace {

using namespace rdcp::net;

constexpr std::uint32_t kCreditSlots = 6;

// A source's end of a stream, of which nothing is ever on its way: what is sent is there at once.
class SourceEnd : public Stream {
 public:
  explicit SourceEnd(io::Ring& ring)
      : Stream(ring, Side::source, {.target_slots = kCreditSlots, .slot_bytes = 4096}, "fuzzer") {}
  void start() override {}
  bool idle() const override { return true; }
  std::string description() const override { return "fuzzer"; }

  std::optional<std::uint32_t> take_credit() {
    CreditAwaiter awaiter = credit();
    if (!awaiter.await_ready()) return std::nullopt;
    const auto slot = awaiter.await_resume();
    require(slot.ok() != why_shut().has_value());
    return slot ? std::optional(*slot) : std::nullopt;
  }
  void put(const Frame& frame, std::span<const std::byte> payload) {
    SendAwaiter awaiter = send(frame, payload);
    require(!awaiter.await_ready());
    awaiter.await_suspend(std::noop_coroutine());
  }
  std::optional<AckStatus> take_answer(std::uint32_t slot, Verdicts& verdicts) {
    AckAwaiter awaiter = acknowledged(slot, &verdicts);
    if (!awaiter.await_ready()) return std::nullopt;
    const auto status = awaiter.await_resume();
    return status ? std::optional(*status) : std::nullopt;
  }
  // False if the frame was refused.
  bool arrive(const Frame& frame) {
    if (!accept(frame)) return false;
    deliver(frame);
    return true;
  }

 private:
  void post_send(SendAwaiter&) override {}
  void post_credit(const Frame&) override { require(false); }
  void close_connection() override {}
};

// A credit from the fuzzer's bytes: by its fields, or as a whole header.
std::optional<Frame> credit_of(Choices& choices) {
  FrameBytes bytes{};
  if (choices.below(4) == 3) {
    const std::string_view raw = choices.piece().substr(0, bytes.size());
    std::ranges::copy(bytes_of(raw), bytes.begin());
  } else {
    io::store_le(bytes.data(), std::uint32_t{0x52464452});  // "RDFR"
    bytes[4] = std::byte{8};                                // credit
    bytes[6] = std::byte{choices.number<std::uint8_t>()};
    bytes[8] = std::byte{choices.number<std::uint8_t>()};
    if (choices.flag()) bytes[32 + choices.below(32)] = std::byte{choices.number<std::uint8_t>()};
  }
  reseal(bytes);
  const auto frame = decode(bytes);
  return frame ? std::optional(*frame) : std::nullopt;
}

Frame any_chunk(Choices& choices, std::span<const std::byte>& payload) {
  static constexpr std::byte kPayload[8] = {};
  Frame frame;
  do frame.kind = static_cast<FrameKind>(1 + choices.number<std::uint8_t>() % 13);
  while (!takes_slot(frame.kind) && choices.more());
  if (!takes_slot(frame.kind)) frame.kind = FrameKind::data;
  if (frame.kind == FrameKind::open)
    frame.flags = choices.number<std::uint8_t>() & (kFlagSparse | kFlagCompare);
  if (has_payload(frame.kind)) payload = kPayload;
  frame.length = static_cast<std::uint32_t>(payload.size());
  return frame;
}

struct Accounts {
  enum class State : std::uint8_t { unknown, free, sent };
  struct Slot {
    State state = State::unknown;
    Frame sent;
  };
  std::array<Slot, kCreditSlots> slots;

  // What the source should say to this credit.
  bool allows(const Frame& credit) const {
    if (credit.kind != FrameKind::credit || credit.slot >= kCreditSlots) return false;
    const Slot& slot = slots[credit.slot];
    if (credit.status == AckStatus::granted) return slot.state == State::unknown;
    return slot.state == State::sent && may_answer(slot.sent.kind, slot.sent.flags, credit);
  }
};

}  // namespace

void fuzz_credits(Bytes input) {
  static const auto ring = io::make_ring(io::RingChoice::thread_pool, 1);
  require(ring.ok());
  Choices choices(input);
  SourceEnd source(**ring);
  Accounts accounts;
  while (choices.more()) {
    if (choices.below(3) == 0) {
      const auto slot = source.take_credit();
      if (!slot) continue;
      require(*slot < kCreditSlots && accounts.slots[*slot].state == Accounts::State::free);
      std::span<const std::byte> payload;
      Frame frame = any_chunk(choices, payload);
      frame.slot = *slot;
      source.put(frame, payload);
      accounts.slots[*slot] = {Accounts::State::sent, frame};
      continue;
    }
    const auto credit = credit_of(choices);
    if (!credit) continue;
    const bool fits = accounts.allows(*credit);
    require(source.arrive(*credit) == fits && source.why_shut().has_value() == !fits);
    if (!fits) break;
    Accounts::Slot& slot = accounts.slots[credit->slot];
    if (credit->status != AckStatus::granted) {
      Verdicts verdicts;
      require(source.take_answer(credit->slot, verdicts) == credit->status && verdicts == credit->verdicts());
    }
    slot.state = Accounts::State::free;
  }
  // After a fault nothing more is given or taken.
  if (!source.why_shut()) return;
  require(!source.take_credit());
  Frame credit;
  credit.kind = FrameKind::credit;
  require(!source.arrive(credit));
}

}  // namespace rdcp::fuzz
