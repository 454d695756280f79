#include "cli/copy/target_chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "tree/fs/beneath.h"
#include "tree/streams/frame_ledger.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using Clock = ChainWatch::Clock;

namespace {

// A host that gives no sign of life for so long is not waited for by the others. It may only be busy.
constexpr std::chrono::seconds kSilenceOfOne{8};

// A target, and where SRC lands there.
struct Landed {
  TargetSide* target;
  tree::DestinationMapping at;

  // SRC gets its own name, beneath DST.
  bool is_within() const { return !at.beneath_parent && !at.in_place && !at.landings.front().empty(); }
};

// Returns what to tell where one SRC becomes DST on some hosts and lands within DST on others, as cp would
// have it; empty where it does not.
std::string warning_of_nesting(const CopyRequest& request, tree::PathKind source, const Landed& first,
                               const std::vector<Landed>& others) {
  const auto unlike = std::ranges::find_if(
      others, [&](const Landed& other) { return other.is_within() != first.is_within(); });
  if (request.sources.size() != 1 || unlike == others.end()) return {};
  const Landed& within = first.is_within() ? first : *unlike;
  const Landed& itself = first.is_within() ? *unlike : first;
  if (!itself.at.beneath_parent) return {};
  const std::string& to = request.destination;
  const bool is_tree = source == tree::PathKind::directory;
  return fmt::format(
      "warning: {} is a directory on {} and gets {} there; where it is new, it becomes {} itself ({})\n",
      io::visible(to), within.target->session->name(),
      io::visible(tree::join_path(to, within.at.landings.front())), io::visible(request.sources.front()),
      is_tree ? "with a slash behind SRC on all hosts" : "with a slash behind DST on none");
}

}  // namespace

void TargetChain::listen_to(TargetSide& target) {
  if (!several()) return;
  names_.resize(std::max(names_.size(), target.host + 1));
  names_[target.host] = target.session->name();
  target.session->on<tree::NextLost>([this, host = target.host](const tree::NextLost& lost) {
    watch_.lose_way_behind(host, 0, lost.why, Clock::now());
  });
  target.session->on<tree::BranchLost>([this, host = target.host](const tree::BranchLost& lost) {
    watch_.lose_way_behind(host, lost.branch, lost.why, Clock::now());
  });
  target.session->on<tree::Pace>(
      [this, host = target.host](const tree::Pace& pace) { slow_.take(host, pace); });
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
  std::optional<Landed> first;
  std::vector<Landed> others;
  std::vector<std::pair<TargetSide*, io::Error>> nowhere;
  for (const auto& target : sides_.targets()) {
    auto landing = land(request, sides_.source(), *target);
    if (!landing) {
      nowhere.emplace_back(target.get(), std::move(landing).error());
    } else if (!first) {
      first = {target.get(), std::move(*landing)};
    } else if (landing->landings != first->at.landings || landing->in_place != first->at.in_place ||
               landing->beneath_parent != first->at.beneath_parent) {
      others.push_back({target.get(), std::move(*landing)});
    }
  }
  for (const auto& [target, error] : nowhere)
    give_up(*target, io::about(target->session->name() + ":" + error.subject, error));
  if (first) {
    const tree::PathKind kind = sides_.source().ready->sources.front().kind;
    if (const std::string warning = warning_of_nesting(request, kind, *first, others); !warning.empty())
      console_.tell(warning);
  }
  for (const Landed& other : others) sides_.drop(*other.target);
}

void TargetChain::choose_fanout(CopyRequest& request) const {
  const unsigned wanted = std::exchange(request.fanout, fanout_of(request, sides_));
  // The first of several chains has all hosts.
  const bool is_first = request.parties.start_targets.size() == request.view.hosts.all;
  if (wanted > 1 && request.fanout == 1 && is_first)
    console_.tell(
        "warning: --fanout is not heeded, because a target has an older rdcp, which knows chains only\n");
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
  const auto& targets = sides_.targets();
  std::vector<std::size_t> hosts;
  for (const auto& target : targets) hosts.push_back(target->host);
  watch_.set_order(std::move(hosts), request.fanout);
  ask_for_pace(request);
  std::map<std::size_t, std::uint32_t> links;  // of each parent so far
  for (std::size_t place = 1; place < targets.size(); ++place) {
    const ChainOrder& order = orders[place - 1];
    AgentSession& parent = *targets[order.parent]->session;
    sides_.pairs.join(parent, ++links[order.parent], *targets[place]->session);
    parent.tell(order.to_next);
  }
  for (std::size_t place = 1; place < targets.size(); ++place)
    targets[place]->session->tell(orders[place - 1].begin);
  begun_ = true;
  if (request.fanout > 1) {
    begins.path.notes.emplace_back(fmt::format(
        "{} targets are a tree, where each passes on to {} others at most", targets.size(), request.fanout));
  }
}

// Nobody is found slow where one cannot tell.
void TargetChain::ask_for_pace(const CopyRequest& request) {
  const auto can_tell = [](const auto& target) {
    return target->session->hello()->protocol >= tree::TellPace::kFirstProtocol;
  };
  const auto& targets = sides_.targets();
  if (!std::ranges::all_of(targets, can_tell)) return;
  SlowHosts::Terms terms;
  terms.may_leave = request.slow_may_leave;
  terms.bytes_per_second = request.bytes_per_second;
  if (targets.size() <= 2 || goes_once(request, sides_)) terms.may_leave = 0;
  for (const auto& target : targets) {
    terms.parents[target->host] = watch_.parent_of(target->host);
    target->session->tell(tree::TellPace());
  }
  slow_.begin(std::move(terms));
}

void TargetChain::look_for_slow() {
  if (!begun_ || is_broken()) return;
  const tree::Progress& progress = sides_.source().progress;
  std::optional<std::uint64_t> left;
  if (progress.total_known) left = progress.bytes_total - std::min(progress.bytes_done, progress.bytes_total);
  for (const auto& [host, why] : slow_.slow(left)) watch_.set_aside(host, why, Clock::now());
}

void TargetChain::look_for_silent() {
  if (!several()) return;
  for (TargetSide* target : begun_ ? sides_.silent_for(kSilenceOfOne) : sides_.late()) {
    watch_.doubt(target->host, target->session->name() + ": no sign of life", Clock::now());
    if (keeps_ledger_) warn_unproven(*target);
    drop(*target);
  }
}

std::vector<std::string> TargetChain::host_lines(std::size_t most) const {
  std::vector<std::string> lines;
  const std::vector<HostOutcome> outcomes = watch_.outcomes();
  for (std::size_t host = 0; host < names_.size() && lines.size() < most / 2; ++host) {
    if (outcomes[host].state == HostOutcome::State::failed)
      lines.push_back("  " + names_[host] + ": failed: " + outcomes[host].cause);
  }
  for (const auto& [host, speed, part] : slow_.slowest(most - lines.size()))
    lines.push_back("  " + names_[host] + ": " + part + " could do " + format_rate(speed));
  return lines;
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

// Returns the name of the last one on the way to a host that has got what was sent.
std::string TargetChain::last_sound(std::size_t host, const std::set<std::size_t>& sound) const {
  for (auto from = watch_.parent_of(host); from; from = watch_.parent_of(*from)) {
    if (sound.contains(*from)) return names_[*from];
  }
  return "the source";
}

// Each link is encrypted, so what came over it is the work of whoever sent it: where a target has got
// something else than the one before it, that one has changed it. Those behind have it from there.
void TargetChain::prove() {
  if (!keeps_ledger_) return;
  const std::optional<tree::Ledger>& sent = sides_.source().ledger;
  std::set<std::size_t> sound;
  for (const auto& target : sides_.targets()) {
    const std::optional<tree::Ledger>& got = target->ledger;
    if (!sent || !got) {
      if (is_broken()) {
        warn_unproven(*target);
      } else {
        refute(*target, "nobody has told what it has got");
      }
    } else if (!tree::agree(*sent, *got)) {
      refute(*target,
             "what it has got is not what was sent; it came by way of " + last_sound(target->host, sound));
    } else {
      sound.insert(target->host);
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
