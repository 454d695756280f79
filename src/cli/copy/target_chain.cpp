#include "cli/copy/target_chain.h"

#include <utility>

#include "cli/text/exit_status.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using Clock = ChainWatch::Clock;

void TargetChain::listen_to(TargetSide& target) {
  if (!several()) return;
  target.session->on<tree::NextLost>([this, host = target.host](const tree::NextLost& lost) {
    watch_.break_behind(host, lost.why, Clock::now());
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

void TargetChain::leave_others(const CopyRequest& request) {
  for (TargetSide* other : landing_elsewhere(request, sides_)) sides_.drop(*other);
}

Result<void> TargetChain::join(const CopyRequest& request, CopyBegins& begins) {
  auto orders = chain_orders(request, sides_, begins);
  if (!orders) return std::move(orders).error();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sides_.targets().size(); ++i) {
    TargetSide& target = *sides_.targets()[i];
    order.push_back(target.host);
    if (i < orders->to_next.size()) target.session->tell(orders->to_next[i]);
    if (i > 0) target.session->tell(orders->begins[i - 1]);
  }
  watch_.set_order(std::move(order));
  begun_ = true;
  return {};
}

TargetSide* TargetChain::one_of_several(const AgentSession& session) {
  return several() ? sides_.target_of(session) : nullptr;
}

// A problem that ends one target's part does not end that of the others.
bool TargetChain::hear(AgentSession& session, const tree::Problem& problem) {
  if (!several()) return false;
  if (sides_.was_dropped(session)) return true;
  TargetSide* const target = sides_.target_of(session);
  if (begun_ && problem.ends_run && problem.kind == ErrorKind::connection) {
    const TargetSide& behind = target != nullptr ? *target : *sides_.targets().front();
    watch_.break_before(behind.host, problem.text, Clock::now());
    return true;
  }
  if (target == nullptr) return false;
  console_.report(session, problem);
  if (problem.ends_run) {
    watch_.fail(target->host, exit_status(problem.kind), problem.text);
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

// It may only be busy, so that another chain may have it.
bool TargetChain::fall_silent(AgentSession& session, const io::Error& error) {
  if (!begun_) return lose(session, error);
  TargetSide* const target = one_of_several(session);
  if (target == nullptr) return sides_.was_dropped(session);
  watch_.doubt(target->host, error.message(), Clock::now());
  drop(*target);
  return true;
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

}  // namespace rdcp::cli
