// A chain: a target that passes on what a source that lies sends to it, to a second target, to one that lies
// in its answers, or to both; the hop to the second one may lie, too. Whatever is said: nothing outside
// either DST changes, a dry run changes nothing at all, what a rule protects stays, and --clean removes all
// that is left of rdcp's own. What is passed on is what was sent, the answers that the source hears fit what
// it has sent, and the second target takes for all only what the first one has passed on; the ledgers show
// what the hop has changed, and two targets that took the same, one frame after the other, have the same. No
// descriptor stays open, and the run ends. The input chooses the chain, then the job, then the frames.
#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

#include "net/stream/memory_stream.h"
#include "tests/fuzz/sessions/chain_account.h"
#include "tests/fuzz/sessions/lying_credit.h"
#include "tests/fuzz/sessions/scripted_stream.h"
#include "tests/fuzz/sessions/target_place.h"
#include "tests/fuzz/sessions/target_run.h"
#include "tests/fuzz/tar_checksums.h"
#include "tests/fuzz/targets.h"
#include "tree/forward/forwarder.h"
#include "tree/fs/own_names.h"

namespace rdcp::fuzz {
namespace {

using tree::Forwarder;
using tree::Problem;
using tree::StreamMaker;
using tree::Target;

constexpr std::size_t kChunkTries = 3;  // as a source worker has it

struct ChainRun {
  bool has_second = false, has_liar = false;
  bool ledger = false;          // the first target goes on alone only without one
  bool serial = false;          // each frame waits for the answer to the one before
  bool has_first_place = true;  // else the first target only passes on
  net::StreamShape next_shape = kTargetShape;
  std::string answers, changes;  // what the liar and the hop to the second target choose
  TargetRun target;
};

ChainRun chain_run_of(Choices& choices, const std::string& destination) {
  ChainRun run;
  const auto bits = choices.number<std::uint16_t>();
  const auto bit = [bits](unsigned at) { return (bits >> at & 1) != 0; };
  run.has_second = !(bit(0) && bit(1));
  run.has_liar = bit(1);
  run.ledger = bit(2);
  run.serial = bit(3);
  run.has_first_place = !(bit(6) && bit(7));
  run.next_shape.target_slots = kTargetSlots - (bits >> 8) % kTargetSlots;
  run.answers = choices.piece();
  run.changes = choices.piece();
  if (!(bit(4) && bit(5))) run.changes.clear();  // most hops are honest
  run.target = run_of(choices, destination);
  run.target.job.wishes.strict = bit(12);
  if (run.target.only_file) run.target.job.path = destination;  // no chain does that
  // Nor has one standard output for its DST, but a device it may have.
  if (std::exchange(run.target.job.standard_output, false)) run.target.job.path = "/dev/null";
  if (run.serial) run.target.begin.streams = 1;
  return run;
}

// The hop to the second target: a tap of its streams.
class Hop {
 public:
  Hop(ChainAccount& account, const std::string& changes) : account_(account), choices_(bytes_of(changes)) {}

  bool tap(net::Frame& frame, std::span<std::byte> payload) {
    if (!net::takes_slot(frame.kind)) return true;
    account_.pass_on(frame, payload);
    const std::lock_guard lock(mutex_);
    if (!change(frame, payload)) return false;
    account_.deliver(frame, payload);
    return true;
  }

 private:
  // Changes a frame now and then, so that it stays well formed. False: the connection is cut.
  bool change(net::Frame& frame, std::span<std::byte> payload) {
    const auto chosen = choices_.number<std::uint8_t>();
    if (chosen < 0xd0) return chosen != 0xcf;
    net::Frame changed = frame;
    const auto by = choices_.number<std::uint8_t>();
    if (chosen % 4 == 0) changed.file_id ^= by;
    if (chosen % 4 == 1) changed.offset ^= by * std::uint64_t{16};
    if (chosen % 4 == 2) changed.flags ^= by & 7;
    if (chosen % 4 == 3 && !payload.empty()) {
      payload[choices_.number<std::uint16_t>() % payload.size()] ^= std::byte{by};
      mend_checksums(payload);
      changed.digest = io::digest_of(payload);
    }
    if (is_well_formed(changed)) frame = changed;
    return true;
  }

  ChainAccount& account_;
  std::mutex mutex_;
  Choices choices_;
};

// A next target that takes everything and answers as the input has it.
class Liar {
 public:
  Liar(ChainAccount& account, const std::string& answers) : account_(account), choices_(bytes_of(answers)) {}

  std::optional<net::Frame> answer(const net::Frame& frame, Bytes payload) {
    account_.pass_on(frame, payload);
    const std::lock_guard lock(mutex_);
    auto credit = lying_credit(choices_, frame);
    const auto odd = choices_.number<std::uint8_t>();
    if (credit && odd == 0xfe) credit->slot = choices_.number<std::uint8_t>();
    if (credit && odd == 0xfd) credit->status = net::AckStatus::granted;
    return credit;
  }

 private:
  ChainAccount& account_;
  std::mutex mutex_;
  Choices choices_;
};

// One of the two targets, with what stands at its DST before.
struct ChainMember {
  ChainMember(const DestinationPlace& its_place, const tree::TargetJob& job)
      : place(its_place),
        root(place.open_destination()),
        before(state_of(root.get())),
        reporter(check_told_problem),
        target(job, reporter) {
    target.tell_changes(
        [](const tree::Changes& changes) { std::ranges::for_each(changes.list, check_told_change); });
  }

  // As an agent does it: a target that has no place to put things only passes them on.
  void begin(const tree::Begin& begin, std::vector<tree::NextTargets*> nexts) {
    (void)target.open();
    target.join_chain(std::move(nexts));
    if (const auto begun = target.begin(begin); !begun) target.refuse(begun.error());
  }
  TreeState after() const { return state_of(root.get()); }

  const DestinationPlace& place;
  const io::Fd root;
  const TreeState before;
  tree::Reporter reporter;
  Target target;
};

tree::TargetJob job_at(tree::TargetJob job, const std::string& path) {
  job.path = path;
  return job;
}

// The targets of one run, and all that joins them.
class ChainSession {
 public:
  ChainSession(const ChainRun& run, const DestinationPlace& first, const DestinationPlace& second)
      : run_(run),
        first_(first, run.has_first_place ? run.target.job
                                          : job_at(run.target.job, first.parent() + "/nowhere/dst")),
        second_(second,
                run.target.begin.in_place ? run.target.job : job_at(run.target.job, second.destination())),
        hop_(to_second_, run.changes),
        liar_(to_liar_, run.answers) {}

  void copy(const std::vector<std::deque<Sent>>& frames);

  const ChainMember& first() const { return first_; }
  const ChainMember& second() const { return second_; }
  bool has_changed_nothing() const { return to_second_.passed() == to_second_.delivered(); }
  // What the second target takes for all is all that it was sent, which is what the first one passed on.
  void check_second() const;

 private:
  std::unique_ptr<Forwarder> forwarder();
  std::vector<StreamMaker> script(const std::vector<std::deque<Sent>>& frames);
  void join_second(std::vector<StreamMaker>& from, std::vector<StreamMaker>& to);
  std::vector<StreamMaker> join_liar();

  const ChainRun& run_;
  ChainMember first_, second_;
  ChainAccount to_second_{kChunkTries}, to_liar_{kChunkTries};
  Hop hop_;
  Liar liar_;
};

// A coordinator ends a copy whose ledgers would not agree any more; otherwise those that are left go on.
std::unique_ptr<Forwarder> ChainSession::forwarder() {
  const auto lost = [this](const Problem& why) {
    check_told_problem(why);
    if (!run_.ledger) return;
    first_.target.stop();
    second_.target.stop();
  };
  return std::make_unique<Forwarder>(run_.target.job.settings, tree::StreamWish(), lost);
}

std::vector<StreamMaker> ChainSession::script(const std::vector<std::deque<Sent>>& frames) {
  std::vector<StreamMaker> makers;
  for (std::deque<Sent> own : frames) {
    for (Sent& sent : own) {
      to_second_.send(sent.frame, sent.payload);
      to_liar_.send(sent.frame, sent.payload);
      sent.waits = sent.waits || run_.serial;
    }
    makers.push_back([this, own](io::Ring& ring, io::Arena& arena) {
      return std::make_unique<SourceScript>(ring, kTargetShape, arena, own, run_.target.ends,
                                            run_.target.job.standard_output);
    });
  }
  return makers;
}

void ChainSession::join_second(std::vector<StreamMaker>& from, std::vector<StreamMaker>& to) {
  for (unsigned i = 0; i < run_.target.begin.streams; ++i) {
    auto channel = net::make_memory_channel();
    net::set_tap(*channel, [this](net::Frame& frame, std::span<std::byte> payload) {
      return hop_.tap(frame, payload);
    });
    from.push_back([this, channel](io::Ring& ring, io::Arena&) {
      return net::make_memory_source(ring, channel, run_.next_shape);
    });
    to.push_back([this, channel](io::Ring& ring, io::Arena& arena) {
      return net::make_memory_target(ring, channel, run_.next_shape, arena);
    });
  }
}

std::vector<StreamMaker> ChainSession::join_liar() {
  const StreamMaker maker = [this](io::Ring& ring, io::Arena&) {
    return std::make_unique<TargetScript>(
        ring, run_.next_shape,
        [this](const net::Frame& frame, Bytes payload) { return liar_.answer(frame, payload); });
  };
  return std::vector<StreamMaker>(run_.target.begin.streams, maker);
}

void ChainSession::copy(const std::vector<std::deque<Sent>>& frames) {
  const std::vector<StreamMaker> source = script(frames);
  std::vector<StreamMaker> from, to;
  std::vector<std::pair<std::unique_ptr<Forwarder>, std::vector<StreamMaker>>> branches;
  if (run_.has_second) {
    join_second(from, to);
    branches.emplace_back(forwarder(), from);
  }
  if (run_.has_liar) branches.emplace_back(forwarder(), join_liar());
  std::vector<tree::NextTargets*> nexts;
  for (const auto& branch : branches) nexts.push_back(branch.first.get());
  if (run_.ledger) first_.target.keep_ledger();
  second_.target.keep_ledger();
  first_.begin(run_.target.begin, nexts);
  if (run_.has_second) second_.begin(run_.target.begin, {});

  std::vector<std::thread> threads;
  if (run_.has_second) threads.emplace_back([&] { second_.target.copy(to, run_.next_shape); });
  for (const auto& branch : branches) {
    threads.emplace_back([&] { branch.first->copy(branch.second, run_.next_shape); });
  }
  first_.target.copy(source, kTargetShape);
  for (const auto& branch : branches) {
    const tree::SourceEnd end = first_.target.source_end();
    if (end == tree::SourceEnd::all_came) branch.first->close();
    if (end == tree::SourceEnd::cut_short) branch.first->cut_short();
    if (end == tree::SourceEnd::lost) branch.first->stop();
  }
  for (std::thread& thread : threads) thread.join();
  (void)first_.target.result();
}

void ChainSession::check_second() const {
  if (!second_.target.result().complete) return;
  require(first_.target.source_end() == tree::SourceEnd::all_came);
  const tree::Ledger got = *second_.target.ledger();
  require(net::SetHash::of_bytes(got.sum) == to_second_.delivered());
  if (!run_.ledger) return;
  const tree::Ledger had = *first_.target.ledger();
  require(net::SetHash::of_bytes(had.sum) == to_second_.passed());
  require(tree::agree(had, got) == has_changed_nothing());
}

// Without what differs between two directories in which the same was done: when something was done there,
// and rdcp's own names.
TreeState comparable(TreeState state) {
  const timespec now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time;
  }();
  std::erase_if(state, [](const auto& entry) {
    return tree::own_name(entry.first.substr(entry.first.rfind('/') + 1)) != tree::OwnName::none;
  });
  for (auto& [path, entry] : state) {
    entry.inode = 0;
    entry.ctime = {};
    if (entry.mtime.first > now.tv_sec - 3600 && entry.mtime.first < now.tv_sec + 3600) entry.mtime = {};
  }
  return state;
}

TreeState without_directories(TreeState state) {
  std::erase_if(state, [](const auto& entry) { return S_ISDIR(entry.second.mode); });
  return comparable(std::move(state));
}

// A run that was cut short leaves its marker, so that the same command goes on with it; not for a directory
// alone.
void check_marker(const ChainMember& member, const ChainRun& run) {
  const std::string& marker = run.target.job.marker;
  if (marker.empty() || run.target.begin.in_place || member.target.result().complete) return;
  const bool has_put = without_directories(member.after()) != without_directories(member.before);
  const std::string where =
      run.target.begin.beneath_parent ? member.place.parent() : member.place.destination();
  require(!has_put || ::access((where + "/" + marker).c_str(), F_OK) == 0);
}

void check_member(const ChainMember& member, const ChainRun& run, const FrameMaker& maker) {
  member.place.check_surroundings();
  const TreeState after = member.after();
  if (run.target.job.settings.sync.dry_run) require(after == member.before);
  if (!maker.has_sent("keep")) {
    require(after.contains("keep") && after.at("keep") == member.before.at("keep"));
  }
  if (!maker.has_sent("rdcp-")) check_marker(member, run);
}

void check_chain(const ChainSession& chain, const ChainRun& run) {
  if (!run.has_first_place) require(chain.first().after() == chain.first().before);
  if (!run.has_second) return;
  chain.check_second();
  const bool both = run.has_first_place && chain.first().target.result().complete &&
                    chain.second().target.result().complete;
  if (!both || !run.serial || !chain.has_changed_nothing()) return;
  require(comparable(chain.first().after()) == comparable(chain.second().after()));
}

}  // namespace

void fuzz_chain(Bytes input) {
  static DestinationPlace first, second;
  Choices choices(input);
  const ChainRun run = chain_run_of(choices, first.destination());
  for (DestinationPlace* place : {&first, &second}) {
    place->make_destination(run.target.with_part, run.target.earlier_marker(), first.canary());
  }
  FrameMaker maker(choices, agreement_of(run.target), first.canary());
  const auto frames = frames_of(maker, choices, run.target.begin.streams);
  const int descriptor = next_descriptor();
  {
    ChainSession chain(run, first, second);
    chain.copy(frames);
    check_chain(chain, run);
    for (const ChainMember* member : {&chain.first(), &chain.second()}) check_member(*member, run, maker);
  }
  require(next_descriptor() == descriptor);
  if (maker.has_sent("rdcp-")) return;
  // The locks of what a run has left go with its targets.
  for (const DestinationPlace* place : {&first, &second}) {
    place->check_cleaned(run.target.begin.beneath_parent);
  }
}

}  // namespace rdcp::fuzz
