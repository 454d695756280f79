// The jobs of an agent: source, target or one end of a measurement.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/sockets/congestion.h"
#include "tree/agent/agent_loop.h"
#include "tree/agent/make_path.h"
#include "tree/agent/receive_only_policy.h"
#include "tree/fs/local_path.h"
#include "tree/resume/clean.h"
#include "tree/streams/stream_growth.h"
#include "tree/walk/find_paths.h"

namespace rdcp::tree {

// Enters the sandbox. Threads that are there already would stay outside, and RDMA devices that are open could
// not be used any more, so this comes before a job starts or opens any. wish: the streams that the job is to
// have. Returns false after it has reported an error, which ends the run.
bool Agent::confine(SandboxTerms terms, const StreamWish* wish) {
  if (config_.confinement == Confinement::by_caller) return true;
  const bool over_network = wish != nullptr && wish->connect != Connect::in_process;
  const bool listens = over_network && (wish->connect == Connect::listen || wish->either_way);
  if (listens) terms.listens = SandboxTerms::Ports{wish->port, std::max(wish->port, wish->port_last)};
  const bool connects = over_network && (wish->connect == Connect::connect || wish->either_way);
  if (connects || streams_.chain().may_pass_on()) terms.connects = true;
  const bool shares_rdma = config_.confinement == Confinement::of_thread && over_network &&
                           wish->transport != Transport::tcp && has_rdma_devices();
  if (shares_rdma) sandbox_.stay_out("it shares RDMA devices with other threads");
  const auto entered = sandbox_.enter(terms);
  if (!entered) reporter_.fatal(entered.error());
  return entered.ok();
}

// Lets it write beneath what Target::begin() will take for its root: DST where that is a directory, else its
// parent. A device or FIFO is DST itself; begin() opens it if nothing read the FIFO until now.
bool Agent::confine_target(const TargetJob& job, PathKind kind) {
  SandboxTerms terms;
  terms.links_directories = job.tree || !job.wishes.backup_directory.empty();
  for (const auto& links : target_->links().opened) terms.links.push_back({links.fd.get(), links.name});
  const bool in_place = kind == PathKind::byte_stream || kind == PathKind::special;
  const bool itself = in_place || kind == PathKind::directory;
  const std::string root = itself ? job.path : split_local_path(job.path).directory;
  io::Fd place;
  if (in_place && !job.standard_output) {
    place = hold_in_place(root);
  } else if (!in_place) {
    place.reset(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  if (place) terms.writes.push_back({place.get(), root});  // else begin() tells why
  return confine(terms, &job.streams);
}

// A side that connects may connect to the other side's port, and one that does not to none. Where RDMA may be
// used this is left out.
bool Agent::confine_connections(const Begin& begin) {
  const auto ports = streams_.connects_to(begin);
  if (!ports) return true;
  const auto kept = sandbox_.keep_connections_to(*ports);
  if (!kept) reporter_.fatal(kept.error());
  return kept.ok();
}

// Finds out how this host can be reached, and listens if this side is to. Returns false after it has reported
// an error.
bool Agent::set_up(const StreamWish& wish, Reach& reach) {
  if (auto usable = net::check_congestion(settings_.congestion); !usable) {
    reporter_.fatal(usable.error());
    return false;
  }
  auto opened = streams_.own().open(wish);
  if (!opened) {
    reporter_.fatal(opened.error());
    return false;
  }
  reach = std::move(*opened);
  return true;
}

bool Agent::take_names(const PathsNamed& part) {
  auto added = names_.add(part);
  if (!added) reporter_.fatal(added.error());
  return added.ok();
}

bool Agent::find(const FindPaths& asked) {
  const auto found = find_paths(asked, reporter_);
  if (!found) return reporter_.fatal(found.error()), true;
  return tell(*found), true;
}

void Agent::answer_knock(const Knock& at) {
  streams_.own().knock(at, [this](const net::KnockOutcome& outcome) {
    tell(Knocked{outcome.answered, outcome.none_because});
  });
}

// Returns false, after it has reported it, if there can be no stream of that number.
bool Agent::hear_loss(const StreamLost& lost) {
  streams_.own().hear_loss(lost.stream);
  const bool known = source_ ? source_->hear_loss(lost.stream) : target_ && target_->hear_loss(lost.stream);
  if (!known) {
    reporter_.fatal(io::plain_error(io::ErrorKind::protocol, "control message from", "the coordinator",
                                    "reports the loss of a stream that cannot exist"));
  }
  return known;
}

void Agent::let_streams_grow(const GrowStreams& wish) {
  source_->let_streams_grow(std::make_unique<StreamGrowth>(wish.most), [this](std::size_t streams) {
    tell(UseStreams{static_cast<std::uint16_t>(streams)});
  });
}

void Agent::start_source(const SourceJob& job) {
  settings_ = job.settings;
  if (source_) streams_.begin_anew();
  source_ = std::make_unique<Source>(job, reporter_, config_.standard, alterations_, source_wishes_);
  source_->tell_losses([this](std::size_t stream) { tell_loss(stream); });
  if (job.tell_sums) source_->tell_sums([this](const Sums& sums) { tell(sums); });
  if (auto chosen = source_->choose(std::move(names_)); !chosen) {
    reporter_.fatal(chosen.error());
    return;
  }
  SourceReady ready;
  ready.sources = source_->open();
  SandboxTerms terms;
  if (source_wishes_.remove_files) {
    for (const Root& root : source_->walk().roots()) {
      if (root.fd) terms.removes.push_back({root.fd.get(), root.given});
    }
  }
  if (!confine(terms, &job.streams) || !set_up(job.streams, ready.reach)) return;
  if (auto walks = source_->start_walk(); !walks) {
    reporter_.fatal(walks.error());
    return;
  }
  tell(ready);
}

// A name that this host does not know is told before anything is done.
bool Agent::knows_owners() {
  NameTable owners([this](const io::Error& error) { reporter_.problem(error); });
  const Alteration& wish = alterations_.metadata;
  const bool user = wish.user.name.empty() || owners.user_id(wish.user.name);
  const bool known = user && (wish.group.name.empty() || owners.group_id(wish.group.name));
  if (known) return true;
  reporter_.fatal(io::plain_error(io::ErrorKind::usage, user ? "--chown: group" : "--chown: user",
                                  user ? wish.group.name : wish.user.name,
                                  "is not known at the target; write a number, or make it there"));
  return false;
}

void Agent::start_target(const TargetJob& asked) {
  if (!knows_owners()) return;
  TargetJob job = config_.only ? held_to(*config_.only, asked) : asked;
  job.wishes = wishes_;
  settings_ = job.settings;
  if (const std::string& wanted = wishes_.make_directory; !wanted.empty()) {
    const auto made = make_path(wanted, 0777 & ~config_.umask);
    if (!made) reporter_.fatal(made.error());
    if (!made) return;
  }
  if (target_) streams_.begin_anew();
  target_ = std::make_unique<Target>(job, reporter_, config_.standard);
  target_->tell_changes([this](const Changes& changes) { tell(changes); });
  target_->tell_losses([this](std::size_t stream) { tell_loss(stream); });
  target_->use_umask(config_.umask);
  if (config_.only) target_->take_only_one_file(config_.only->mode);
  TargetReady ready = target_->open();
  if (confine_target(job, ready.kind) && set_up(job.streams, ready.reach)) tell(ready);
}

// Starts a measurement. It may follow another one, over another transport, which is ended first.
void Agent::start_measure(const MeasureJob& job) {
  if (copy_thread_.joinable()) {
    reporter_.silence();
    streams_.own().stop();
    measure_->stop();
    copy_thread_.join();
    copy_over_.drain();
    reporter_.begin_anew();
  }
  if (!confine({.any_tcp = true}, &job.streams)) return;
  measure_ = std::make_unique<Measure>(job, reporter_);
  streams_.begin_anew();
  MeasureReady ready;
  if (set_up(job.streams, ready.reach)) tell(ready);
}

// Looks beside the directory, too, where runs that were to make it have left their markers.
void Agent::start_clean(const CleanJob& job) {
  SandboxTerms terms;
  const std::string beside = split_real_path(job.path).directory;
  const io::Fd directory(::open(beside.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (job.remove && directory) terms.writes.push_back({directory.get(), beside});
  if (!confine(terms)) return;
  clean(job, reporter_, [this](const Leftovers& found) { return tell(found), !stopping_; });
}

void Agent::start_copy(const Begin& begin) {
  if (source_ && streams_.chain().is_member()) source_->join_chain();
  if (target_) {
    const bool chained = streams_.chain().is_member();
    if (chained) target_->join_chain(streams_.chain().nexts());
    const auto begun = target_->begin(begin);
    if (!begun && !chained) {
      reporter_.fatal(begun.error());
      return;
    }
    if (!begun) target_->refuse(begun.error());
  }
  if (!measure_ && !confine_connections(begin)) return;
  copying_ = true;
  begun_ = SteadyClock::now();
  auto thread = io::Thread::start("the thread that copies", [this, begin] {
    copy(begin);
    copying_ = false;
    copy_over_.signal();
  });
  if (thread) {
    copy_thread_ = std::move(*thread);
  } else {
    copying_ = false;
    reporter_.fatal(thread.error());
  }
}

void Agent::copy(const Begin& begin) {
  if (source_) source_->set_landings(begin.landings);
  if (source_ && begin.in_place) source_->send_holes();
  if (source_ && begin.beneath_parent) source_->land_beneath_parent();
  if (source_ && begin.as_it_comes) source_->send_in_order();
  if (source_) source_->set_new_mode(begin.new_mode);
  if (auto started = streams_.chain().start(settings_.congestion); !started) {
    reporter_.fatal(started.error());
    return;
  }
  const bool is_source = measure_ ? measure_->is_source() : source_ != nullptr;
  const auto streams = streams_.own().make(begin, is_source, settings_.congestion);
  if (!streams) {
    reporter_.fatal(streams.error());
    return;
  }
  if (settings_.retry_seconds == 0) streams_.own().close();
  const net::StreamShape shape{.target_slots = begin.target_slots, .slot_bytes = begin.chunk_bytes};
  if (source_) source_->copy(*streams, shape, streams_.own().further());
  if (target_) target_->copy(*streams, shape, streams_.own().further());
  streams_.chain().finish(target_ ? target_->source_end() : SourceEnd::lost);
  if (measure_) measure_->run(*streams, shape);
}

void Agent::tell_result() {
  if (measure_) {
    Measured measured = measure_->result();
    const std::vector<io::Words> notes = streams_.own().notes();
    measured.notes.insert(measured.notes.end(), notes.begin(), notes.end());
    tell(measured);
    return;
  }
  tell_ledger();
  Done done = source_ ? source_->result() : target_->result();
  const std::vector<io::Words> notes = streams_.notes();
  done.notes.insert(done.notes.end(), notes.begin(), notes.end());
  if (config_.confinement != Confinement::by_caller)
    done.notes.emplace_back(sandbox_.description(source_ ? "the source" : "the target"));
  if (!config_.note.empty()) done.notes.emplace_back(config_.note);
  end_.done = done;
  end_.seconds = std::chrono::duration<double>(SteadyClock::now() - begun_).count();
  tell(done);
}

}  // namespace rdcp::tree
