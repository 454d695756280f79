#include "tests/fuzz/sessions/lying_credit.h"

namespace rdcp::fuzz {
namespace {

using net::AckStatus;
using net::Frame;
using net::FrameKind;

AckStatus status_for(const Frame& frame, std::uint8_t chosen) {
  const auto status = static_cast<AckStatus>(2 + chosen % 8);  // from done to has_part
  Frame credit;
  credit.kind = FrameKind::credit;
  credit.status = status;
  const bool fits = net::may_answer(frame.kind, frame.flags, credit);
  return fits || (chosen & 0x70) == 0x70 ? status : AckStatus::done;
}

}  // namespace

std::optional<Frame> lying_credit(Choices& choices, const Frame& frame) {
  const auto chosen = choices.number<std::uint8_t>();
  if (chosen == 0xff) return std::nullopt;
  const bool asks = frame.kind == FrameKind::compare || frame.kind == FrameKind::names ||
                    frame.kind == FrameKind::probe || frame.kind == FrameKind::ask;
  net::Verdicts verdicts;
  for (std::size_t i = 0; asks && i < net::Verdicts::kCount && (chosen & 0x80) != 0; i += 4) {
    const auto four = choices.number<std::uint8_t>();
    for (std::size_t at = 0; at < 4; ++at) verdicts.set(i + at, four >> (2 * at) & 3);
  }
  Frame credit;
  credit.kind = FrameKind::credit;
  credit.slot = frame.slot;
  credit.status = status_for(frame, chosen);
  if (credit.status == AckStatus::done) credit.set_verdicts(verdicts);
  return credit;
}

}  // namespace rdcp::fuzz
