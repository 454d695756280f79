#include "tree/target/merged_answer.h"

#include <algorithm>

#include "tree/messages/sync_settings.h"
#include "tree/pages/probe.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

// The source may leave out, or take for granted, only what holds for both.
AckStatus merged_opening(AckStatus own, AckStatus behind) {
  const auto either = [&](AckStatus status) { return own == status || behind == status; };
  if (own == behind) return own;
  if (either(AckStatus::unsupported))
    return AckStatus::unsupported;  // it opens the file once more, in another way
  return either(AckStatus::in_turn) ? AckStatus::in_turn : AckStatus::done;
}

// Refused says that nothing is sent for this target; otherwise the higher one asks for more.
std::uint8_t merged_comparison(std::uint8_t own, std::uint8_t behind) {
  constexpr auto kRefused = static_cast<std::uint8_t>(Verdict::refused);
  if (own == kRefused || behind == kRefused) return std::min(own, behind);
  return std::max(own, behind);
}

std::uint8_t merged_piece(std::uint8_t own, std::uint8_t behind) {
  return own == behind ? own : static_cast<std::uint8_t>(PieceVerdict::missing);
}

std::uint8_t merged_verdict(FrameKind kind, std::uint8_t own, std::uint8_t behind) {
  switch (kind) {
    case FrameKind::compare:
      return merged_comparison(own, behind);
    case FrameKind::names:
      return std::max(own, behind);  // which directories differ
    default:
      return merged_piece(own, behind);
  }
}

}  // namespace

ChunkAnswer merged(const net::Frame& frame, const ChunkAnswer& own, const ChunkAnswer& behind, bool strict) {
  const bool own_refuses = own.status == AckStatus::refused;
  const bool puts = frame.kind == FrameKind::archive || frame.kind == FrameKind::commit;
  if (own_refuses || behind.status == AckStatus::refused) {
    if (strict && puts) return {AckStatus::refused, {}};
    return own_refuses ? behind : own;
  }
  if (frame.kind == FrameKind::open) return {merged_opening(own.status, behind.status), {}};
  ChunkAnswer both = own;
  for (std::size_t i = 0; i < net::Verdicts::kCount; ++i) {
    both.verdicts.set(i, merged_verdict(frame.kind, own.verdicts.at(i), behind.verdicts.at(i)));
  }
  return both;
}

}  // namespace rdcp::tree
