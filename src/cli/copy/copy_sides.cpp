#include "cli/copy/copy_sides.h"

#include <algorithm>
#include <utility>

namespace rdcp::cli {

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

std::vector<CopySide*> CopySides::started() {
  std::vector<CopySide*> sides;
  if (source_.session) sides.push_back(&source_);
  for (const auto& target : targets_) sides.push_back(target.get());
  return sides;
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

}  // namespace rdcp::cli
