#include "cli/layout/chain_watch.h"

#include <algorithm>

namespace rdcp::cli {

using State = HostOutcome::State;

void ChainWatch::fail(std::size_t host, int status, const std::string& cause) {
  HostOutcome& outcome = outcomes_[host];
  if (outcome.state == State::failed) return;  // the first cause counts
  outcome.status = std::max(outcome.status, status);
  outcome.state = State::failed;
  outcome.cause = cause;
}

void ChainWatch::raise(std::size_t host, int status) {
  outcomes_[host].status = std::max(outcomes_[host].status, status);
}

void ChainWatch::raise_all(int status) {
  for (std::size_t host = 0; host < outcomes_.size(); ++host) raise(host, status);
}

std::optional<std::size_t> ChainWatch::place_of(std::size_t host) const {
  const auto at = std::ranges::find(order_, host);
  if (at == order_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - order_.begin());
}

void ChainWatch::note_break(std::set<std::size_t>& links, std::size_t link, const std::string& cause,
                            Clock::time_point now) {
  end_by(now + kGrace);
  if (cause_.empty()) cause_ = cause;
  links.insert(link);
}

void ChainWatch::lose_way_to(std::size_t host, const std::string& cause, Clock::time_point now) {
  if (const auto place = place_of(host)) note_break(lost_ways_, *place, cause, now);
}

void ChainWatch::lose_way_behind(std::size_t host, unsigned branch, const std::string& cause,
                                 Clock::time_point now) {
  const auto place = place_of(host);
  if (!place) return;
  if (const auto child = tree_.child(*place, branch)) note_break(lost_ways_, *child, cause, now);
}

std::optional<std::size_t> ChainWatch::parent_of(std::size_t host) const {
  const auto place = place_of(host);
  const auto parent = place ? tree_.parent(*place) : std::nullopt;
  return parent ? std::optional(order_[*parent]) : std::nullopt;
}

void ChainWatch::starve(std::size_t host, const std::string& cause, Clock::time_point now) {
  if (const auto place = place_of(host)) note_break(starved_, *place, cause, now);
}

void ChainWatch::end_by(Clock::time_point when) {
  over_at_ = over_at_ ? std::min(*over_at_, when) : when;
}

void ChainWatch::lose(std::size_t host, Clock::time_point end) {
  if (!place_of(host)) return;
  lost_one_ = true;
  end_by(end);
}

void ChainWatch::break_at(std::size_t host, Clock::time_point now) {
  lose(host, now + kGraceOfLost);
}

void ChainWatch::doubt(std::size_t host, const std::string& cause, Clock::time_point now) {
  lose(host, now + kGrace);
  if (outcomes_[host].state != State::again) return;
  outcomes_[host].state = State::suspect;
  outcomes_[host].cause = cause;
}

void ChainWatch::set_aside(std::size_t host, const std::string& why, Clock::time_point now) {
  break_at(host, now);
  if (outcomes_[host].state != State::again) return;
  outcomes_[host].state = State::slow;
  outcomes_[host].cause = why;
}

std::size_t ChainWatch::failed() const {
  const auto failed = std::ranges::count(outcomes_, State::failed, &HostOutcome::state);
  return static_cast<std::size_t>(failed);
}

void ChainWatch::finish(std::size_t host) {
  HostOutcome& outcome = outcomes_[host];
  if (outcome.state == State::again) outcome.state = State::done;
}

// True if one of the links leads from this place to the next.
bool ChainWatch::leads_on(const std::set<std::size_t>& links, std::size_t place) const {
  return std::ranges::any_of(links, [&](std::size_t link) { return tree_.parent(link) == place; });
}

// Returns the place of the host that explains most of these: the one that is on both sides of two, or the one
// behind the first.
std::size_t ChainWatch::suspect_of(const std::set<std::size_t>& links) const {
  const auto on_both_sides =
      std::ranges::find_if(links, [&](std::size_t link) { return leads_on(links, link); });
  return on_both_sides != links.end() ? *on_both_sides : *links.begin();
}

std::vector<HostOutcome> ChainWatch::outcomes() const {
  std::vector<HostOutcome> outcomes = outcomes_;
  if (lost_one_) return outcomes;
  std::set<std::size_t> links = lost_ways_;
  // Where no sender has told, the break is before the first host that gets nothing.
  if (links.empty() && !starved_.empty()) links.insert(*starved_.begin());
  while (!links.empty()) {
    const std::size_t place = suspect_of(links);
    std::erase_if(links, [&](std::size_t link) { return link == place || tree_.parent(link) == place; });
    HostOutcome& suspect = outcomes[order_[place]];
    if (suspect.state != State::again) continue;
    suspect.state = State::suspect;
    suspect.cause = cause_;
  }
  return outcomes;
}

}  // namespace rdcp::cli
