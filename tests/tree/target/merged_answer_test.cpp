#include "tree/target/merged_answer.h"

#include <gtest/gtest.h>

#include "tree/messages/sync_settings.h"
#include "tree/pages/probe.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using net::FrameKind;

net::Frame a_frame(FrameKind kind) {
  net::Frame frame;
  frame.kind = kind;
  return frame;
}

AckStatus merged_status(FrameKind kind, AckStatus own, AckStatus behind, bool strict = false) {
  const AckStatus status = merged(a_frame(kind), {own, {}}, {behind, {}}, strict).status;
  EXPECT_EQ(status, merged(a_frame(kind), {behind, {}}, {own, {}}, strict).status) << "not symmetric";
  return status;
}

std::uint8_t merged_verdict(FrameKind kind, std::uint8_t own, std::uint8_t behind) {
  ChunkAnswer a, b;
  a.verdicts.set(7, own);
  b.verdicts.set(7, behind);
  const ChunkAnswer both = merged(a_frame(kind), a, b, false);
  EXPECT_EQ(both.status, AckStatus::done);
  EXPECT_EQ(both.verdicts.at(6), 0);
  EXPECT_EQ(both.verdicts, merged(a_frame(kind), b, a, false).verdicts) << "not symmetric";
  return both.verdicts.at(7);
}

TEST(MergedAnswer, OneRefusalKeepsNothingFromTheOthers) {
  for (const FrameKind kind : {FrameKind::archive, FrameKind::open, FrameKind::data, FrameKind::commit}) {
    EXPECT_EQ(merged_status(kind, AckStatus::refused, AckStatus::done), AckStatus::done);
    EXPECT_EQ(merged_status(kind, AckStatus::refused, AckStatus::refused), AckStatus::refused);
  }
  EXPECT_EQ(merged_status(FrameKind::open, AckStatus::refused, AckStatus::has_part), AckStatus::has_part);
}

TEST(MergedAnswer, ASourceThatRemovesFilesHearsOfEachRefusal) {
  for (const FrameKind kind : {FrameKind::archive, FrameKind::commit})
    EXPECT_EQ(merged_status(kind, AckStatus::refused, AckStatus::done, true), AckStatus::refused);
  EXPECT_EQ(merged_status(FrameKind::data, AckStatus::refused, AckStatus::done, true), AckStatus::done);
}

TEST(MergedAnswer, OnlyWhatAllHaveIsTakenForGranted) {
  using enum AckStatus;
  const auto open = [](AckStatus own, AckStatus behind) {
    return merged_status(FrameKind::open, own, behind);
  };
  for (const AckStatus status : {done, in_turn, has_part, has_basis, has_like, unsupported})
    EXPECT_EQ(open(status, status), status);
  EXPECT_EQ(open(has_part, done), done);
  EXPECT_EQ(open(has_part, has_basis), done);
  EXPECT_EQ(open(has_part, in_turn), in_turn);
  EXPECT_EQ(open(done, in_turn), in_turn);
  EXPECT_EQ(open(done, unsupported), unsupported);
  EXPECT_EQ(open(has_part, unsupported), unsupported);
  constexpr auto kMissing = static_cast<std::uint8_t>(PieceVerdict::missing);
  constexpr auto kPresent = static_cast<std::uint8_t>(PieceVerdict::present);
  EXPECT_EQ(merged_verdict(FrameKind::ask, kPresent, kPresent), kPresent);
  EXPECT_EQ(merged_verdict(FrameKind::ask, kPresent, kMissing), kMissing);
}

TEST(MergedAnswer, WhatOneTargetLacksIsSent) {
  const auto compare = [](Verdict own, Verdict behind) {
    return static_cast<Verdict>(merged_verdict(FrameKind::compare, static_cast<std::uint8_t>(own),
                                               static_cast<std::uint8_t>(behind)));
  };
  EXPECT_EQ(compare(Verdict::equal, Verdict::equal), Verdict::equal);
  EXPECT_EQ(compare(Verdict::equal, Verdict::metadata), Verdict::metadata);
  EXPECT_EQ(compare(Verdict::metadata, Verdict::different), Verdict::different);
  EXPECT_EQ(compare(Verdict::refused, Verdict::different), Verdict::different);
  EXPECT_EQ(compare(Verdict::refused, Verdict::equal), Verdict::equal);
  EXPECT_EQ(compare(Verdict::refused, Verdict::refused), Verdict::refused);
  EXPECT_EQ(merged_verdict(FrameKind::names, 0, 1), 1);
}

}  // namespace
}  // namespace rdcp::tree
