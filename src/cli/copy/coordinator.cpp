#include "cli/copy/coordinator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/copy/copy_orders.h"
#include "cli/copy/copy_summary.h"
#include "cli/options/shared_options.h"
#include "cli/text/exit_status.h"
#include "net/crypto/handshake.h"

namespace rdcp::cli {

using io::ErrorKind;

namespace {

constexpr std::chrono::milliseconds kAbortGrace{1500};
// How long the better way is tried alone.
constexpr std::chrono::milliseconds kHeadStart{250};
constexpr const char* kSilence = "its agent has given no sign of life";

}  // namespace

Coordinator::Coordinator(CopyRequest request, int signal_fd)
    : request_(std::move(request)),
      loop_({.signal_fd = signal_fd, .silence = kSilence}, *this),
      console_(request_.view, loop_),
      chain_(request_.parties.start_targets.size(), sides_, console_, [this] { end_run(); }) {
  if (chain_.several()) console_.show_table([this](std::size_t most) { return chain_.host_lines(most); });
}

int Coordinator::run() {
  if (start_agents() && find_sources() && send_jobs() && begin() &&
      turn_until([this] { return sides_.all_done(); }) && !chain_.is_broken()) {
    const auto complete = [](CopySide* side) { return bool{side->done->complete}; };
    if (!std::ranges::all_of(sides_.started(), complete) && console_.status() == 0)
      console_.raise(kExitConnection);
    if (complete(&sides_.source())) {
      chain_.finish();
      chain_.prove();
    }
  } else {
    // Agents close their side at their end. One that does not in time is ended by force later.
    loop_.tell_all(tree::Abort());
    loop_.await_goodbyes(kAbortGrace);
    if (chain_.is_broken() && !console_.interrupted()) chain_.prove();
  }
  console_.clear_progress();
  if (sides_.all_done() && !chain_.is_broken() && !console_.interrupted()) sum_up();
  end_agents();
  return console_.status();
}

bool Coordinator::was_the_only_try() const {
  return begun() && goes_once(request_, sides_);
}

std::optional<std::string> Coordinator::better_through_ssh() const {
  const bool met = std::ranges::any_of(knocks_, &Knocking::answered);
  if (!met || !in_vain_ || console_.interrupted() || was_the_only_try()) return std::nullopt;
  return slower_if_in_vain(request_, sides_.source(), *sides_.targets().front());
}

// An agent on this host comes first: it is a copy of this process, which has no other threads yet.
bool Coordinator::start_agents() {
  return request_.parties.target_is_far ? start_source() && start_targets()
                                        : start_targets() && start_source();
}

bool Coordinator::start_targets() {
  const auto has_room = [this] { return loop_.has_room_for_login(); };
  for (std::size_t host = 0; host < request_.parties.start_targets.size(); ++host) {
    if (!loop_.await_logins() || !turn_until(has_room) || !start_target(host)) return false;
  }
  return true;
}

// Returns false if the run is over.
bool Coordinator::start_target(std::size_t host) {
  auto target = request_.parties.start_targets[host]();
  if (!target && !chain_.several()) return fail(target.error()), false;
  if (!target) return chain_.leave_out(host, target.error()), !over_;
  TargetSide& side = sides_.add_target(std::move(*target), host);
  AgentSession& to = *side.session;
  prepare(to);
  to.on<tree::Changes>([this, &to](const tree::Changes& changes) {
    console_.print_changes(changes, chain_.several() ? to.name() : std::string());
  });
  chain_.listen_to(side);
  loop_.add(to);
  return true;
}

// Where there are several targets, each is to know it. Returns false if none is left.
bool Coordinator::introduce_targets() {
  if (!chain_.several()) return true;
  if (!loop_.await_logins()) return false;
  const auto greeted = [](const auto& target) { return target->session->hello().has_value(); };
  if (!turn_until([&] { return std::ranges::all_of(sides_.targets(), greeted); })) return false;
  if (auto introduced = chain_.introduce(request_.wish.key); !introduced)
    return fail(introduced.error()), false;
  return !over_;
}

bool Coordinator::start_source() {
  if (!loop_.await_logins()) return false;
  auto source = request_.parties.start_source();
  if (!source) return fail(source.error()), false;
  AgentSession& from = *sides_.set_source(std::move(*source)).session;
  prepare(from);
  if (request_.hear_sum) {
    from.on<tree::Sums>([this](const tree::Sums& sums) {
      for (const tree::SumLine& line : sums.lines) request_.hear_sum(line);
    });
  }
  loop_.add(from);
  return true;
}

void Coordinator::prepare(AgentSession& session) {
  if (request_.view.json != nullptr) session.explain_problems();
  session.rejoiner().set_up(
      std::chrono::seconds(request_.settings.retry_seconds), [&](const io::Error& lost) {
        console_.tell("warning: the connection to the agent on " + session.name() +
                      " was lost: " + lost.message() + "; another one took its place\n");
      });
}

// Has the source find what the patterns among the user's words stand for. Returns false if the run is over,
// or nothing was found, which has been reported.
bool Coordinator::find_sources() {
  if (!request_.finds_sources) return true;
  SourceSide& source = sides_.source();
  AgentSession& agent = *source.session;
  if (!turn_until([&] { return agent.hello().has_value(); })) return false;
  if (agent.hello()->protocol < tree::FindPaths::kFirstProtocol) return true;  // the words are names to it
  agent.tell(tree::FindPaths{request_.sources});
  if (!turn_until([&] { return source.found.has_value(); })) return false;
  if (auto taken = take_found(*source.found, agent.name(), request_); !taken)
    return fail(taken.error()), false;
  return !request_.sources.empty();
}

bool Coordinator::send_jobs() {
  if (!request_.parties.have_key) {
    auto key = net::make_session_key();
    if (!key) return fail(key.error()), false;
    request_.wish.key = *key;
  }
  const auto greeted = [](CopySide* side) { return side->session->hello().has_value(); };
  if (!turn_until([&] { return std::ranges::any_of(sides_.started(), greeted); })) return false;
  if (!introduce_targets()) return false;
  if (!send_jobs(EarlierRun::none)) return false;
  const auto interrupted = [](const auto& target) { return bool{target->ready->interrupted}; };
  const auto doubtful = [](const auto& target) { return bool{target->ready->doubtful}; };
  const bool doubts = std::ranges::any_of(sides_.targets(), doubtful);
  if (std::ranges::none_of(sides_.targets(), interrupted)) return true;
  if (request_.settings.sync.enabled && !doubts) return true;
  // Entries that an earlier run has copied are skipped as by --sync, or by --checksum where size and time
  // prove nothing, so all agents get their jobs again with that setting.
  sides_.begin_anew();
  return send_jobs(doubts ? EarlierRun::doubtful : EarlierRun::sound);
}

// Sends each agent its job as soon as it has said hello, so that a local source walks its tree while ssh is
// still connecting. An agent that is gone shows when it is read from.
bool Coordinator::send_jobs(EarlierRun earlier) {
  const CopyJobs jobs = jobs_of(request_, earlier);
  const auto wants_job = [](CopySide& side) {
    return side.session->hello() && !std::exchange(side.has_job, true);
  };
  return turn_until([&] {
    if (far().hello()) sides_.round_trip.start(far());
    if (wants_job(sides_.source())) {
      AgentSession& source = *sides_.source().session;
      if (chain_.several()) {
        if (auto told = tell_chain(source, false); !told) return fail(told.error()), false;
      }
      if (auto told = tell_alterations(source, request_.alteration); !told) return fail(told.error()), false;
      if (auto told = tell_wishes(source, request_.source_wishes); !told) return fail(told.error()), false;
      if (request_.named_paths) tell_names(source, *request_.named_paths);
      source.tell(jobs.source);
    }
    // A directory is made only for what can be copied.
    const bool can_tell = !request_.make_path || sides_.source().ready;
    const bool source_is_known = !chain_.several() || sides_.source().session->hello();
    for (const auto& target : sides_.targets()) {
      if (!can_tell || !source_is_known || !wants_job(*target)) continue;
      auto told = tell_wishes(*target->session, wishes_of(request_, sides_.source()));
      if (told && request_.alteration.names_somebody())
        told = tell_alterations(*target->session, request_.alteration);
      if (!told) return fail(told.error()), false;
      tree::TargetJob job = jobs.target;
      if (chain_.several()) {
        job.streams.key = target->key;
        job.settings.delta &= knows_deltas(*sides_.source().session) && knows_deltas(*target->session);
      }
      target->session->tell(job);
    }
    return sides_.all_ready();
  });
}

bool Coordinator::begin() {
  if (chain_.several()) chain_.keep_alike(request_);
  if (over_) return false;
  if (chain_.several()) chain_.choose_fanout(request_);
  TargetSide& target = *sides_.targets().front();
  keep_family(request_, sides_.source().ready->reach);
  keep_family(request_, target.ready->reach);
  auto begins = begins_of(request_, sides_.source(), target, sides_.round_trip);
  if (!begins) return fail(begins.error()), false;
  if (!*begins) return false;  // each source that cannot be copied has been reported
  const bool may_turn = goes_either_way(request_) && (*begins)->path.rails.empty();
  bool through_ssh = false;
  sides_.tell_path((*begins)->path.streams);
  if (!chain_.several()) sides_.let_end_when_done(sides_.round_trip.shortest());
  if (may_turn) {
    const auto meeting = meet();
    if (!meeting) return false;
    apply(*meeting, **begins);
    through_ssh = meeting->through_ssh;
    if (auto told = prove_early(through_ssh); !told) return fail(told.error()), false;
  }
  mark_packets(through_ssh, (*begins)->path);
  if (!request_.numa) sides_.leave_placement();
  const unsigned later = (*begins)->path.streams_max;
  if (later > 0) sides_.let_streams_grow(later, (*begins)->source.connects);
  if (chain_.several()) chain_.join(request_, **begins);
  path_ = std::move((*begins)->path);
  for (const io::Words& warning : path_.warnings) console_.tell("warning: " + std::string(warning) + "\n");
  begun_ = Clock::now();
  sides_.expect_losses();
  sides_.join_first(request_.parties.source_connects == tree::Connect::connect);
  target.session->tell((*begins)->target);
  sides_.source().session->tell((*begins)->source);
  if (!through_ssh) return true;
  auto bridges = start_bridges(request_, sides_.source(), target, path_.streams);
  if (!bridges) return fail(bridges.error()), false;
  bridges_ = std::move(*bridges);
  return true;
}

io::Result<void> Coordinator::prove_early(bool through_ssh) {
  if (through_ssh || !may_prove_early(request_, sides_)) return {};
  return sides_.let_prove_early();
}

// Has both ends of each stream mark their packets, as the user has asked. Between agents of one process there
// are none.
void Coordinator::mark_packets(bool through_ssh, DataPath& path) {
  if (!request_.traffic_class || request_.parties.source_connects == tree::Connect::in_process) return;
  if (through_ssh) {
    console_.tell(fmt::format(
        "warning: --tos is not heeded, because the data goes through {}, which marks its packets itself{}\n",
        request_.carrier, request_.carrier == "ssh" ? " (IPQoS in ssh_config)" : ""));
    return;
  }
  for (const AgentSession* other : sides_.mark_packets(*request_.traffic_class)) {
    console_.tell(fmt::format(
        "warning: --tos is not heeded on {}: rdcp {} there does not know it, and marks no packets\n",
        other->name(), std::string(other->hello()->program_version)));
  }
  path.notes.emplace_back("packets carry " + describe_traffic_class(*request_.traffic_class));
}

// Finds out who can reach whom. Returns nothing if the run is over, which has been reported.
std::optional<Meeting> Coordinator::meet() {
  SourceSide& source = sides_.source();
  TargetSide& target = *sides_.targets().front();
  if (request_.ssh_data != Options::SshData::always) {
    for (const WayToTry& way : ways_to_try(request_, source, target)) knocks_.push_back({.way = way});
  }
  if (!knock()) return std::nullopt;
  const auto found = std::ranges::find_if(knocks_, &Knocking::answered);
  std::vector<std::string> given_up;
  for (const Knocking& knock : knocks_) {
    if (!knock.answered()) given_up.push_back(knock.cause());
  }
  if (found != knocks_.end()) {
    Meeting meeting = meeting_by(found->way, found->knocked.answered);
    if (found != knocks_.begin()) meeting.notes.emplace_back("not reached: " + given_up.front());
    return meeting;
  }
  auto meeting = meeting_through_ssh(request_, source, target, std::move(given_up));
  if (!meeting) return fail(meeting.error()), std::nullopt;
  if (!meeting->slower.empty()) console_.tell(meeting->slower);
  return std::move(*meeting);
}

// Has the ways tried until one has answered, or all are in vain. Each has a little time for itself first,
// because the earlier one is the better one. Returns false if the run is over.
bool Coordinator::knock() {
  std::size_t sent = 0;
  Clock::time_point next;
  return turn_until([&] {
    if (std::ranges::any_of(knocks_, &Knocking::answered)) return true;
    const bool in_vain = std::all_of(knocks_.begin(), knocks_.begin() + static_cast<long>(sent),
                                     [](const Knocking& knock) { return knock.over; });
    if (sent == knocks_.size() || (!in_vain && Clock::now() < next)) return sent == knocks_.size() && in_vain;
    Knocking& knock = knocks_[sent++];
    AgentSession& from = *knock.way.connecting->session;
    from.on<tree::Knocked>([&knock](tree::Knocked& answer) {
      knock.over = true;
      knock.knocked = std::move(answer);
    });
    from.tell(tree::Knock{.hosts = knock.way.reach->hosts, .port = knock.way.reach->port});
    next = Clock::now() + kHeadStart;
    return false;
  });
}

// A session of ssh that fails before anything has come through is the end; later it is a lost stream.
bool Coordinator::bridges_hold() {
  const auto failed = [](const std::unique_ptr<Bridge>& bridge) { return bridge->wait().value_or(0) != 0; };
  if (!sides_.source().brought_nothing()) {
    for (const auto& bridge : bridges_) bridge->settle();
    return true;
  }
  if (std::ranges::none_of(bridges_, failed)) return true;
  std::string why = "a further session of it has ended; it has said why on standard error";
  if (request_.carrier == "ssh") {
    why +=
        ". Where sshd_config there has MaxSessions 1 or ssh_config here a ControlPath, such sessions can ask "
        "for no password: use a key or ssh-agent";
  }
  fail(io::plain_error(ErrorKind::connection, "send data through", request_.carrier, why));
  return false;
}

void Coordinator::sum_up() {
  const double seconds = std::chrono::duration<double>(Clock::now() - *begun_).count();
  outcome_ = summary_of(request_, sides_, path_, seconds);
  if (!bridges_.empty()) name_carrier(*outcome_, request_.carrier);
  console_.print_summary(*outcome_, request_.settings.sync.dry_run);
}

void Coordinator::end_agents() {
  end_bridges(std::move(bridges_));
  loop_.tell_all(tree::Finish{.status = static_cast<std::uint8_t>(console_.status())});
  for (AgentSession* session : loop_.sessions()) session->end(console_.interrupted() || session->gone());
}

bool Coordinator::turn_until(const std::function<bool()>& done) {
  while (!done()) {
    if (!loop_.turn(Progress::kInterval) || !bridges_hold()) return false;
    chain_.look_for_silent();
    chain_.look_for_slow();
    if (over_ || chain_.is_over()) return false;
    if (begun_) console_.show_progress(sides_.source().progress, chain_.failed());
  }
  return true;
}

AgentSession& Coordinator::far() {
  return request_.parties.target_is_far ? *sides_.targets().front()->session : *sides_.source().session;
}

// An agent may report several problems at its end. Those after the one that ends the run only follow from it.
void Coordinator::hear_problem(AgentSession& session, const tree::Problem& problem) {
  if (over_) return;
  if (chain_.hear(session, problem)) return;
  console_.report(session, problem);
  if (!problem.ends_run) return;
  in_vain_ = problem.kind == ErrorKind::connection && sides_.source().brought_nothing();
  end_run();
}

void Coordinator::fall_silent(AgentSession& session, const io::Error& error) {
  if (!chain_.lose(session, error)) fail(error);
}

// The end of an agent is in order once the agent is done. The agent may have reported problems with files
// before, but they do not explain its end. A problem that ends the run would have been seen before this.
void Coordinator::lose(AgentSession& session, const io::Error& error) {
  const bool in_order = error.kind != ErrorKind::protocol && sides_.is_done(session);
  if (in_order) return;
  const io::Error explained = session.explain(error);
  if (!chain_.lose(session, explained)) fail(explained);
}

void Coordinator::fail(const io::Error& error) {
  console_.fail(error);
  end_run();
}

void Coordinator::end_run() {
  over_ = true;
  loop_.end();
}

void Coordinator::end_by_signal(int signal) {
  console_.report_signal(signal);
  loop_.end();
}

}  // namespace rdcp::cli
