#include "cli/copy/copy_sides.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdcp::cli {
namespace {

// A round trip that a user may feel.
constexpr std::chrono::milliseconds kFelt{5};

}  // namespace

SourceSide& CopySides::set_source(std::unique_ptr<AgentSession> session) {
  source_.session = std::move(session);
  source_.session->on<tree::SourceReady>(
      [this](tree::SourceReady& ready) { source_.ready = std::move(ready); });
  source_.session->on<tree::PathsFound>(
      [this](tree::PathsFound& found) { source_.found = std::move(found); });
  listen_to(source_);
  return source_;
}

TargetSide& CopySides::add_target(std::unique_ptr<AgentSession> session, std::size_t host) {
  TargetSide& target = *targets_.emplace_back(std::make_unique<TargetSide>());
  target.host = host;
  target.session = std::move(session);
  target.session->on<tree::TargetReady>(
      [&target](tree::TargetReady& ready) { target.ready = std::move(ready); });
  listen_to(target);
  return target;
}

void CopySides::drop(TargetSide& target) {
  target.session->allow_silence();
  target.session->end(true);
  const auto at = std::ranges::find(targets_, &target, &std::unique_ptr<TargetSide>::get);
  dropped_.push_back(std::move(*at));
  targets_.erase(at);
}

TargetSide* CopySides::target_of(const AgentSession& session) {
  const auto at =
      std::ranges::find(targets_, &session, [](const auto& target) { return target->session.get(); });
  return at == targets_.end() ? nullptr : at->get();
}

bool CopySides::was_dropped(const AgentSession& session) const {
  return std::ranges::any_of(dropped_, [&](const auto& target) { return target->session.get() == &session; });
}

void CopySides::listen_to(CopySide& side) {
  side.session->on<tree::Progress>(
      [&side](tree::Progress& progress) { side.progress = std::move(progress); });
  side.session->on<tree::StreamLost>([this, &side](const tree::StreamLost& lost) { pass_on(side, lost); });
  side.session->on<tree::UseStreams>([this, &side](const tree::UseStreams& use) { pass_on(side, use); });
  side.session->on<tree::Ledger>([&side](tree::Ledger& ledger) { side.ledger = std::move(ledger); });
  side.session->on<tree::Done>([&side](tree::Done& done) {
    side.done = std::move(done);
    side.session->allow_silence();
  });
}

// Streams are between the source and a target.
void CopySides::pass_on(const CopySide& from, const tree::StreamLost& lost) {
  if (!expects_losses_) return;
  for (CopySide* side : started()) {
    const bool meets = (side == &source_) != (&from == &source_);
    if (meets && !side->session->gone() && !side->done) side->session->tell(lost);
  }
}

// Only a source without other targets says so.
void CopySides::pass_on(const CopySide& from, const tree::UseStreams& use) {
  if (&from != &source_ || !expects_losses_ || targets_.size() != 1) return;
  TargetSide& target = *targets_.front();
  const bool knows = target.session->hello()->protocol >= tree::GrowStreams::kFirstProtocol;
  if (knows && !target.session->gone() && !target.done) target.session->tell(use);
}

std::vector<CopySide*> CopySides::started() {
  std::vector<CopySide*> sides;
  if (source_.session) sides.push_back(&source_);
  for (const auto& target : targets_) sides.push_back(target.get());
  return sides;
}

void CopySides::join_first(bool source_connects) {
  AgentSession& source = *source_.session;
  AgentSession& target = *targets_.front()->session;
  pairs.join(source_connects ? source : target, 0, source_connects ? target : source);
}

void CopySides::tell_path(unsigned streams) {
  tree::PathTold told;
  told.streams = static_cast<std::uint16_t>(streams);
  if (round_trip.shortest()) {
    const auto time = std::chrono::ceil<std::chrono::microseconds>(*round_trip.shortest()).count();
    told.microseconds =
        static_cast<std::uint32_t>(std::min<std::int64_t>(time, tree::PathTold::kMicrosecondsMax));
  }
  for (CopySide* side : started()) {
    if (side->session->hello()->protocol >= tree::PathTold::kFirstProtocol) side->session->tell(told);
  }
}

void CopySides::let_end_when_done(const std::optional<RoundTrip::Clock::duration>& round_trip_time) {
  if (!round_trip_time || *round_trip_time < kFelt) return;
  for (CopySide* side : started()) {
    AgentSession& session = *side->session;
    if (!session.run().is_program() || session.hello()->protocol < tree::EndWhenDone::kFirstProtocol)
      continue;
    session.tell(tree::EndWhenDone());
  }
}

std::vector<const AgentSession*> CopySides::mark_packets(std::uint8_t traffic_class) {
  std::vector<const AgentSession*> others;
  for (CopySide* side : started()) {
    AgentSession& session = *side->session;
    if (session.hello()->protocol < tree::MarkPackets::kFirstProtocol) {
      others.push_back(&session);
    } else {
      session.tell(tree::MarkPackets{traffic_class});
    }
  }
  return others;
}

void CopySides::let_streams_grow(unsigned most, bool source_connects) {
  const CopySide& connecting = source_connects ? static_cast<CopySide&>(source_) : *targets_.front();
  for (const CopySide* side : {static_cast<const CopySide*>(&source_), &connecting}) {
    if (side->session->hello()->protocol < tree::GrowStreams::kFirstProtocol) return;
  }
  source_.session->tell(tree::GrowStreams{static_cast<std::uint16_t>(most)});
}

io::Result<void> CopySides::let_prove_early() {
  const auto knows = [](CopySide* side) {
    return side->session->hello()->protocol >= tree::ProveEarly::kFirstProtocol;
  };
  if (targets_.size() != 1 || !std::ranges::all_of(started(), knows)) return {};
  const auto nonce = net::make_nonce();
  if (!nonce) return nonce.error();
  tree::ProveEarly early{{.nonce = *nonce}};
  const auto is_fast = [](CopySide* side) { return bool{side->session->hello()->fast_aes}; };
  if (!std::ranges::all_of(started(), is_fast)) early.terms.cipher = net::Cipher::chacha20_poly1305;
  for (CopySide* side : started()) side->session->tell(early);
  return {};
}

void CopySides::leave_placement() {
  for (CopySide* side : started()) {
    if (side->session->hello()->protocol >= tree::LeavePlacement::kFirstProtocol)
      side->session->tell(tree::LeavePlacement());
  }
}

bool CopySides::all_ready() const {
  return source_.ready &&
         std::ranges::all_of(targets_, [](const auto& target) { return target->ready.has_value(); });
}

bool CopySides::all_done() {
  const bool complete = source_.session && !targets_.empty();
  return complete && std::ranges::all_of(started(), [](CopySide* side) { return side->done.has_value(); });
}

bool CopySides::is_done(const AgentSession& session) {
  return std::ranges::any_of(started(),
                             [&](CopySide* side) { return side->session.get() == &session && side->done; });
}

void CopySides::begin_anew() {
  for (CopySide* side : started()) side->has_job = false;
  source_.ready.reset();
  for (const auto& target : targets_) target->ready.reset();
}

std::vector<TargetSide*> CopySides::silent_for(std::chrono::milliseconds time) {
  std::vector<TargetSide*> silent;
  for (const auto& target : targets_) {
    if (target->session->silence() > time) silent.push_back(target.get());
  }
  return silent;
}

std::vector<TargetSide*> CopySides::late() {
  std::vector<AgentSession*> agents;
  for (const auto& target : targets_) agents.push_back(target->session.get());
  std::vector<TargetSide*> late;
  for (const AgentSession* agent : latecomers_.find(agents)) late.push_back(target_of(*agent));
  return late;
}

}  // namespace rdcp::cli
