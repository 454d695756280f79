#include "cli/inspect/host_round.h"

#include <algorithm>
#include <utility>

#include "cli/agents/agent_run.h"

namespace rdcp::cli {

HostRound::HostRound(const RemoteShell& shell, Inquiry& inquiry, const std::vector<Location>& places, Ask ask)
    : shell_(shell), inquiry_(inquiry), ask_(std::move(ask)) {
  for (const Location& place : places) hosts_.push_back({.place = place});
}

io::Result<void> HostRound::run() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    (void)inquiry_.loop().await_logins();
    const auto has_room = [this] { return all_over() || inquiry_.loop().has_room_for_login(); };
    if (auto waited = inquiry_.wait_for_all(has_room); !waited) return waited;
    start(i);
  }
  (void)inquiry_.loop().await_logins();
  return inquiry_.wait_for_all([this] { return all_over(); });
}

void HostRound::start(std::size_t index) {
  Host& host = hosts_[index];
  auto started =
      is_remote(host.place)
          ? AgentSession::start_remote(shell_, host.place)
          : AgentSession::start_thread({.confinement = confinement(shell_, tree::Confinement::of_thread)});
  if (!started) return leave(index, started.error());
  host.session = &inquiry_.add(std::move(*started));
}

// Goes on with all that have been started. Returns true if nothing more is waited for.
bool HostRound::all_over() {
  leave_late();
  bool all = true;
  for (std::size_t i = 0; i < hosts_.size(); ++i) all = is_over(i) && all;
  return all;
}

bool HostRound::is_over(std::size_t index) {
  Host& host = hosts_[index];
  if (host.session == nullptr) return host.error.has_value();
  if (host.session->hello() && !std::exchange(host.asked, true)) ask_(index, *host.session);
  if (host.has_answered) return true;
  const io::Error* const failure = inquiry_.failure_of(*host.session);
  if (failure != nullptr) leave(index, io::Error(*failure));
  return failure != nullptr;
}

// One that is slow to log in does not keep the answers of the others from whoever waits for them.
void HostRound::leave_late() {
  for (const AgentSession* const session : latecomers_.find(inquiry_.loop().sessions())) {
    const auto host = std::ranges::find(hosts_, session, &Host::session);
    if (host == hosts_.end()) continue;
    leave(static_cast<std::size_t>(host - hosts_.begin()),
          io::plain_error(io::ErrorKind::unreachable, "wait for", session->name(),
                          "no answer, while other hosts have answered; ask it alone"));
  }
}

void HostRound::leave(std::size_t index, const io::Error& error) {
  Host& host = hosts_[index];
  host.error = error;
  if (host.session != nullptr) inquiry_.drop(*std::exchange(host.session, nullptr), false);
}

void HostRound::finish(std::size_t index) {
  inquiry_.drop(*std::exchange(hosts_[index].session, nullptr), true);
}

}  // namespace rdcp::cli
