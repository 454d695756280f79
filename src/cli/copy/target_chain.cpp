#include "cli/copy/target_chain.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "cli/text/exit_status.h"
#include "tree/streams/frame_ledger.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using Clock = ChainWatch::Clock;

namespace {

// A host that gives no sign of life for so long is not waited for by the others. It may only be busy.
constexpr std::chrono::seconds kSilenceOfOne{8};
// The same for a hello, after the last one that came.
constexpr std::chrono::seconds kHelloAfterOthers{10};

}  // namespace

void TargetChain::listen_to(TargetSide& target) {
  if (!several()) return;
  target.session->on<tree::NextLost>([this, host = target.host](const tree::NextLost& lost) {
    watch_.lose_way_behind(host, lost.why, Clock::now());
  });
}

Result<void> TargetChain::introduce(const net::SessionKey& first) {
  std::vector<std::pair<TargetSide*, io::Error>> too_old;
  for (const auto& target : sides_.targets()) {
    if (auto told = tell_chain(*target->session, true); !told)
      too_old.emplace_back(target.get(), told.error());
  }
  for (const auto& [target, error] : too_old) give_up(*target, error);
  for (const auto& target : sides_.targets()) {
    auto key = target == sides_.targets().front() ? Result<net::SessionKey>(first) : net::make_session_key();
    if (!key) return std::move(key).error();
    target->key = *key;
  }
  return {};
}

void TargetChain::keep_alike(const CopyRequest& request) {
  std::optional<tree::DestinationMapping> first;
  std::vector<TargetSide*> others;
  std::vector<std::pair<TargetSide*, io::Error>> nowhere;
  for (const auto& target : sides_.targets()) {
    auto landing = land(request, sides_.source(), *target);
    if (!landing) {
      nowhere.emplace_back(target.get(), std::move(landing).error());
    } else if (!first) {
      first = std::move(*landing);
    } else if (landing->landings != first->landings || landing->in_place != first->in_place ||
               landing->beneath_parent != first->beneath_parent) {
      others.push_back(target.get());
    }
  }
  for (const auto& [target, error] : nowhere)
    give_up(*target, io::about(target->session->name() + ":" + error.subject, error));
  for (TargetSide* other : others) sides_.drop(*other);
}

void TargetChain::join(const CopyRequest& request, CopyBegins& begins) {
  auto laid_out = chain_orders(request, sides_, begins);
  while (const NoLink* none = std::get_if<NoLink>(&laid_out)) {
    watch_.doubt(none->target->host, none->why.message(), Clock::now());
    sides_.drop(*none->target);
    laid_out = chain_orders(request, sides_, begins);
  }
  const ChainOrders& orders = std::get<ChainOrders>(laid_out);
  keeps_ledger_ = keeps_ledger(request, begins, orders);
  if (keeps_ledger_) {
    for (CopySide* side : sides_.started()) side->session->tell(tree::KeepLedger());
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sides_.targets().size(); ++i) {
    TargetSide& target = *sides_.targets()[i];
    order.push_back(target.host);
    if (i < orders.to_next.size()) target.session->tell(orders.to_next[i]);
    if (i > 0) target.session->tell(orders.begins[i - 1]);
  }
  watch_.set_order(std::move(order));
  begun_ = true;
}

// Returns the targets that the others should not wait for any longer.
std::vector<TargetSide*> TargetChain::silent() const {
  std::vector<TargetSide*> silent;
  for (const auto& target : sides_.targets()) {
    const AgentSession& session = *target->session;
    const bool greeted = session.hello().has_value();
    if (begun_ ? session.silence() > kSilenceOfOne : !greeted && Clock::now() > late_)
      silent.push_back(target.get());
  }
  return silent;
}

void TargetChain::look_for_silent() {
  if (!several()) return;
  const auto greeted = std::ranges::count_if(
      sides_.targets(), [](const auto& target) { return target->session->hello().has_value(); });
  if (std::exchange(greeted_, greeted) != greeted) late_ = Clock::now() + kHelloAfterOthers;
  if (greeted == 0) return;
  for (TargetSide* target : silent()) {
    watch_.doubt(target->host, target->session->name() + ": no sign of life", Clock::now());
    if (keeps_ledger_) warn_unproven(*target);
    drop(*target);
  }
}

TargetSide* TargetChain::one_of_several(const AgentSession& session) {
  return several() ? sides_.target_of(session) : nullptr;
}

// A target with a full disk, or without a reader, refuses what comes and passes it on. After other problems
// that end its run its agent does nothing more, so that nobody gets anything through it.
bool TargetChain::still_passes_on(const tree::Problem& problem) const {
  return begun_ && (problem.kind == ErrorKind::file || problem.kind == ErrorKind::reader_gone);
}

// A problem that ends one target's part does not end that of the others.
bool TargetChain::hear(AgentSession& session, const tree::Problem& problem) {
  if (!several()) return false;
  if (sides_.was_dropped(session)) return true;
  TargetSide* const target = sides_.target_of(session);
  if (begun_ && problem.ends_run && problem.kind == ErrorKind::connection) {
    if (target != nullptr) {
      watch_.starve(target->host, problem.text, Clock::now());
    } else {
      watch_.lose_way_to(sides_.targets().front()->host, problem.text, Clock::now());
    }
    return true;
  }
  if (target == nullptr) {
    watch_.raise_all(exit_status(problem.kind));
    source_failed_ = true;
    return false;
  }
  // The host before it may be to blame, so it is asked again without that one. What it has got so far is
  // told at its end.
  if (begun_ && problem.ends_run && problem.kind == ErrorKind::digest) {
    watch_.doubt(target->host, problem.text, Clock::now());
    return true;
  }
  console_.report(session, problem);
  if (problem.ends_run) {
    watch_.fail(target->host, exit_status(problem.kind), problem.text);
    if (!still_passes_on(problem)) {
      watch_.break_at(target->host, Clock::now());
      drop(*target);
    }
  } else {
    watch_.raise(target->host, exit_status(problem.kind));
  }
  if (watch_.all_failed()) end_();
  return true;
}

bool TargetChain::lose(AgentSession& session, const io::Error& error) {
  if (sides_.was_dropped(session)) return true;
  TargetSide* const target = one_of_several(session);
  if (target != nullptr) give_up(*target, error);
  return target != nullptr;
}

void TargetChain::leave_out(std::size_t host, const io::Error& error) {
  console_.fail(error);
  watch_.fail(host, exit_status(error.kind), error.message());
  if (watch_.all_failed()) end_();
}

void TargetChain::give_up(TargetSide& target, const io::Error& error) {
  watch_.break_at(target.host, Clock::now());
  leave_out(target.host, error);
  drop(target);
}

void TargetChain::drop(TargetSide& target) {
  sides_.drop(target);
  if (sides_.targets().empty()) end_();
}

// A target that has said why it is not complete has failed already.
void TargetChain::finish() {
  for (const auto& target : sides_.targets()) {
    if (target->done->complete) {
      watch_.finish(target->host);
    } else {
      watch_.fail(target->host, kExitConnection, "it came to no end");
    }
  }
}

void TargetChain::warn_unproven(const TargetSide& target) const {
  console_.tell(
      "warning: " + target.session->name() +
      ": what it got before the chain broke could not be compared with what was sent; --check can\n");
}

void TargetChain::refute(const TargetSide& target, const std::string& why) {
  leave_out(target.host, io::plain_error(ErrorKind::digest, "copy to", target.session->name(),
                                         why + "; do not use this copy, and make it anew with --checksum"));
}

// Each link is encrypted, so what came over it is the work of whoever sent it: where a target has got
// something else than the one before it, that one has changed it. Those behind have it from there.
void TargetChain::prove() {
  if (!keeps_ledger_) return;
  const std::optional<tree::Ledger>& sent = sides_.source().ledger;
  std::string last_sound = "the source";
  for (const auto& target : sides_.targets()) {
    const std::optional<tree::Ledger>& got = target->ledger;
    if (!sent || !got) {
      if (is_broken()) {
        warn_unproven(*target);
      } else {
        refute(*target, "nobody has told what it has got");
      }
    } else if (!tree::agree(*sent, *got)) {
      refute(*target, "what it has got is not what was sent; it came by way of " + last_sound);
    } else {
      last_sound = target->session->name();
      if (lacks_something(*target)) {
        refute(*target, std::to_string(got->missing) +
                            " entries that it asked for have not come: a host before it has answered for it");
      }
    }
  }
}

// A target that is not complete has said why, and the source has said what it could not read.
bool TargetChain::lacks_something(const TargetSide& target) const {
  const bool ended_well = !is_broken() && target.done->complete && !source_failed_;
  return ended_well && target.ledger->missing > 0;
}

}  // namespace rdcp::cli
