#include "tree/agent/agent.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/arena.h"
#include "io/retry.h"
#include "tree/agent/agent_loop.h"
#include "tree/doctor/examine.h"
#include "tree/resume/mount_stamp.h"

namespace rdcp::tree {

using io::ErrorKind;
using io::Result;

namespace {

// How long a stopped job may take to come to an end.
constexpr std::chrono::seconds kStopGrace{5};

}  // namespace

AgentEnd Agent::run() {
  if (config_.has_rejoin_socket) rejoinable_.open();
  Hello hello;
  hello.rejoin_socket = rejoinable_.name();
  hello.program_version = config_.program_version;
  hello.cpus = io::processors();
  hello.boot_id = boot_id();
  hello.fast_aes = net::has_fast_aes();
  tell(hello);
  auto copy_over = io::Event::create();
  if (!copy_over) {
    reporter_.fatal(copy_over.error());
    end_.complete = true;
    return end_;
  }
  copy_over_ = std::move(*copy_over);
  while (serve()) {
  }
  end_.complete = end_job() && segment_complete_;
  return end_;
}

int Agent::next_timeout_ms() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_progress_ - SteadyClock::now());
  return static_cast<int>(std::clamp<long>(left.count(), 0, kProgressInterval.count()));
}

// Returns true if the coordinator is taken for dead. While an agent waits long for its first job, because the
// other host's password is being typed, the coordinator sends beats.
bool Agent::coordinator_silent() const {
  return !suspended_ && SteadyClock::now() - heard_ > kSilenceMax;
}

// Takes a signal. Ctrl-Z stops this process until the user wants it to go on; the coordinator is told before
// not to expect signs of life. Returns false if any other signal came, which ends the agent.
bool Agent::survive_signal() {
  signalfd_siginfo info{};
  if (::read(config_.signal_fd, &info, sizeof info) != sizeof info) info.ssi_signo = SIGTERM;
  if (info.ssi_signo != SIGTSTP) {
    end_.signal = static_cast<int>(info.ssi_signo);
    return false;
  }
  tell(Suspend());
  ::kill(::getpid(), SIGSTOP);
  heard_ = SteadyClock::now();
  return true;
}

// The coordinator is away and may come back. Returns false if nothing goes on meanwhile.
bool Agent::outlast_loss() {
  return rejoinable_.leave() && wait_for_coordinator();
}

bool Agent::wait_for_coordinator() {
  const bool begun = copy_thread_.joinable() && (source_ || target_);
  return begun && rejoinable_.still_waits(source_ ? source_->connected() : target_->connected());
}

// Runs one round of the loop: waits for a message, the end of the copy, a signal or the time to report
// progress. Returns false if the agent is to end.
bool Agent::serve() {
  if (!control_.buffered()) {
    std::array<pollfd, 4> watched{pollfd{control_.fd(), POLLIN, 0}, pollfd{copy_over_.fd(), POLLIN, 0},
                                  pollfd{config_.signal_fd, POLLIN, 0}, pollfd{rejoinable_.fd(), POLLIN, 0}};
    if (!io::wait_for_events(watched, next_timeout_ms())) return false;
    if (watched[2].revents != 0 && !survive_signal()) return false;
    if (watched[1].revents != 0) {
      copy_over_.drain();
      tell_result();
      if (ends_when_done_ && !rejoinable_.away()) return false;
    }
    if (SteadyClock::now() >= next_progress_) {
      next_progress_ = SteadyClock::now() + kProgressInterval;
      if (!rejoinable_.away()) tell_progress();
    }
    if (stopping_) return false;
    if (watched[3].revents != 0 && rejoinable_.let_in()) {
      heard_ = SteadyClock::now();
      return true;  // what was polled is no longer the coordinator's connection
    }
    if (rejoinable_.away()) return wait_for_coordinator();
    // Messages come first: an agent that was stopped together with its coordinator has some to read.
    if (watched[0].revents == 0) return !coordinator_silent() || outlast_loss();
  }
  const auto message = control_.receive();
  if (!message && message.error().kind == ErrorKind::digest) reporter_.fatal(message.error());
  if (!message) return rejoinable_.is_loss(message.error()) && outlast_loss();
  if (!*message) return true;
  heard_ = SteadyClock::now();
  suspended_ = false;
  return handle(**message);
}

void Agent::tell_progress() {
  tell(source_ ? source_->progress() : Progress());
  if (tells_pace_ && target_ && copying_) tell(target_->pace());
}

template <class Message>
std::optional<Message> Agent::expect(const RawMessage& raw) {
  auto message = control_.decode<Message>(raw);
  if (message) return std::move(*message);
  reporter_.fatal(message.error());
  return std::nullopt;
}

AgentState Agent::state() const {
  const bool begun = copy_thread_.joinable();
  if (source_) return begun ? AgentState::source_begun : AgentState::source_ready;
  if (target_) return begun ? AgentState::target_begun : AgentState::target_ready;
  if (measure_) return begun ? AgentState::measure_begun : AgentState::measure_ready;
  return checks_.begun() ? AgentState::checking : AgentState::idle;
}

// Returns false if a stranger's numbers would make this agent allocate more than any job needs.
bool Agent::is_bounded(const Begin& begin) const {
  constexpr std::uint64_t kArenaBytesMax = 2ull * kStreamsMax * kChunkBytesMax;
  return !config_.only || (begin.chunk_bytes % io::kPageBytes == 0 &&
                           begin.target_slots <= kArenaBytesMax / begin.streams / begin.chunk_bytes);
}

bool Agent::refuse(std::string_view why) {
  reporter_.fatal(io::plain_error(ErrorKind::protocol, "control message from", "the coordinator", why));
  return false;
}

// Decodes a message and does what it asks for; false ends the agent.
template <class Message, class Do>
bool Agent::with(const RawMessage& raw, Do what) {
  const std::optional<Message> message = expect<Message>(raw);
  return message && what(*message);
}

// Takes what belongs to a job and comes in a message of its own, before it.
bool Agent::handle_wish(const RawMessage& raw) {
  switch (raw.type) {
    case MessageType::paths_named:
      return with<PathsNamed>(raw, [this](const PathsNamed& part) { return take_names(part); });
    case MessageType::target_wishes:
      return with<TargetWishes>(raw, [this](const TargetWishes& wishes) { return take_wishes(wishes); });
    case MessageType::alterations:
      return with<Alterations>(raw, [this](const Alterations& wish) { return take_alterations(wish); });
    case MessageType::join_chain:
      return with<JoinChain>(raw,
                             [this](const JoinChain& chain) { return streams_.chain().join(chain), true; });
    case MessageType::pass_on:
      return with<PassOn>(raw, [this](const PassOn& order) { return take_order(order); });
    case MessageType::keep_ledger:
      return with<KeepLedger>(raw, [this](const KeepLedger&) { return keep_ledger(), true; });
    case MessageType::tell_pace:
      return tells_pace_ = true;
    case MessageType::path_told:
      return with<PathTold>(raw, [this](const PathTold& told) { return streams_.hear_of_path(told), true; });
    case MessageType::prove_early:
      return with<ProveEarly>(
          raw, [this](const ProveEarly& early) { return streams_.own().hints().early = early.terms, true; });
    case MessageType::end_when_done:
      return ends_when_done_ = true;
    case MessageType::mark_packets:
      return with<MarkPackets>(raw, [this](const MarkPackets& mark) {
        return streams_.set_traffic_class(mark.traffic_class), true;
      });
    case MessageType::leave_placement:
      return with<LeavePlacement>(raw,
                                  [this](const LeavePlacement&) { return streams_.leave_placement(), true; });
    case MessageType::grow_streams:
      return with<GrowStreams>(raw, [this](const GrowStreams& wish) { return let_streams_grow(wish), true; });
    case MessageType::source_wishes:
      return with<SourceWishes>(raw, [this](const SourceWishes& wishes) { return take_wishes(wishes); });
    default:  // may_order() lets no other message through
      return false;
  }
}

bool Agent::handle(const RawMessage& raw) {
  // An agent that does as it is told in matters of streams has a coordinator that it knows.
  const bool may_knock = raw.type == MessageType::knock && config_.only && config_.only->streams_as_told;
  const bool stranger = config_.only.has_value() && !may_knock;
  if (!may_order(raw.type, state(), stranger)) return refuse(refusal_of(raw.type, state(), stranger));
  if (is_check(raw.type)) return confine({}) && checks_.handle(raw);
  switch (raw.type) {
    case MessageType::stay:
      return with<Stay>(raw, [this](const Stay& wish) { return take_wish(wish); });
    case MessageType::ping:
      return tell(Pong()), true;
    case MessageType::beat:
      return true;
    case MessageType::suspend:
      return suspended_ = true;
    case MessageType::explain_problems:
      return explains_problems_ = true;
    case MessageType::find_paths:
      return with<FindPaths>(raw, [this](const FindPaths& asked) { return find(asked); });
    case MessageType::source_job:
      return with<SourceJob>(raw, [this](const SourceJob& job) { return start_source(job), true; });
    case MessageType::target_job:
      return with<TargetJob>(raw, [this](const TargetJob& job) { return start_target(job), true; });
    case MessageType::measure_job:
      return with<MeasureJob>(raw, [this](const MeasureJob& job) { return start_measure(job), true; });
    case MessageType::begin:
      return with<Begin>(raw, [this](const Begin& begin) {
        if (!is_bounded(begin)) return refuse("asks for more memory than any job needs");
        return start_copy(begin), true;
      });
    case MessageType::knock:
      return with<Knock>(raw, [this](const Knock& at) { return answer_knock(at), true; });
    case MessageType::stream_lost:
      return with<StreamLost>(raw, [this](const StreamLost& lost) { return hear_loss(lost); });
    case MessageType::use_streams:
      return with<UseStreams>(
          raw, [this](const UseStreams& use) { return target_->use_streams(use.streams), true; });
    case MessageType::pair_offered:
      return with<PairOffered>(raw, [this](const PairOffered& said) { return hear_of_pair(said); });
    case MessageType::pair_answered:
      return with<PairAnswered>(raw, [this](const PairAnswered& said) { return hear_of_pair(said); });
    case MessageType::segment_job:
      return with<SegmentJob>(raw, [this](const SegmentJob& job) { return run_segment(job); });
    case MessageType::examine:
      return confine({.any_tcp = true}) && (tell(Findings{.findings = examine(host_facts())}), true);
    case MessageType::clean_job:
      return with<CleanJob>(raw, [this](const CleanJob& job) { return start_clean(job), true; });
    case MessageType::abort:
      reporter_.silence();
      end_.aborted = true;
      return false;
    case MessageType::finish:
      return with<Finish>(raw, [this](const Finish& finish) { return end_.status = finish.status, false; });
    default:
      return handle_wish(raw);
  }
}

void Agent::tell_problem(const Problem& problem) {
  if (explains_problems_) return tell(ExplainedProblem{problem});
  tell(problem);
}

bool Agent::take_wish(const Stay& wish) {
  return rejoinable_.stay(wish) || refuse("asks to stay an agent that it cannot rejoin");
}

bool Agent::take_wishes(const TargetWishes& wishes) {
  if (!wishes.are_sound()) return refuse("asks for backups or links that cannot be");
  wishes_ = wishes;
  return true;
}

bool Agent::take_wishes(const SourceWishes& wishes) {
  source_wishes_ = wishes;
  checks_.take(wishes);
  return true;
}

bool Agent::take_alterations(const Alterations& wish) {
  if (wish.metadata.modes.size() > kModeChangesMax) return refuse("asks for more changes than there are");
  alterations_ = wish;
  return true;
}

// The next target is not reached yet.
bool Agent::take_order(const PassOn& order) {
  if (!streams_.chain().may_pass_on()) return refuse("asks to pass on what no chain was agreed on for");
  if (streams_.chain().orders().size() == kNextTargetsMax)
    return refuse("asks to pass on to too many targets");
  auto taken = streams_.chain().pass_on(order, settings_);
  if (!taken) reporter_.fatal(taken.error());
  return true;
}

// Orders come before the job begins, so their number is known.
void Agent::tell_lost(const BranchLost& lost) {
  if (streams_.chain().orders().size() > 1) {
    tell(lost);
  } else {
    tell(NextLost{lost.why});
  }
}

// The job is there already; it has not begun.
void Agent::keep_ledger() {
  if (source_) source_->keep_ledger();
  if (target_) target_->keep_ledger();
}

// To be called once nothing is copied any more.
void Agent::tell_ledger() {
  if (std::exchange(ledger_told_, true)) return;
  const std::optional<Ledger> ledger = source_   ? source_->ledger()
                                       : target_ ? target_->ledger()
                                                 : std::nullopt;
  if (ledger) tell(*ledger);
}

// The agent ends with its segment.
bool Agent::run_segment(const SegmentJob& job) {
  if (!config_.run_segment) return refuse("asks for a segment of a pipeline where none can be run");
  segment_complete_ = config_.run_segment(job, control_, config_);
  return false;
}

void Agent::stop_job() {
  reporter_.silence();
  stopping_ = true;
  streams_.stop();
  if (measure_) measure_->stop();
  if (source_) source_->stop();
  if (target_) target_->stop();
  checks_.stop();
}

bool Agent::end_job() {
  stop_job();
  const auto deadline = SteadyClock::now() + kStopGrace;
  while (copying_ && SteadyClock::now() < deadline) {
    pollfd over{copy_over_.fd(), POLLIN, 0};
    ::poll(&over, 1, 100);
  }
  if (!checks_.has_ended(deadline)) return false;
  if (copying_) {
    copy_thread_.detach();
    return false;
  }
  if (copy_thread_.joinable()) copy_thread_.join();
  tell_ledger();
  source_.reset();
  target_.reset();
  return true;
}

AgentEnd run_agent(io::Fd in, io::Fd out, const AgentConfig& config) {
  // The agent is on the heap, because it must outlive this call if a part of the job hangs in the kernel.
  auto agent = std::make_unique<Agent>(std::move(in), std::move(out), config);
  AgentEnd end = agent->run();
  if (!end.complete) agent.release();
  return end;
}

}  // namespace rdcp::tree
