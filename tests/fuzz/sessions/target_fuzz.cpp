// A whole target against a source that lies, with everything in DST and beside it
// that could lead it astray: symlinks, hard links, FIFOs, a part and a marker of an earlier run. Whatever it
// is sent: nothing outside DST changes, a dry run changes nothing at all, what a rule protects stays, and
// --clean removes all that is left of rdcp's own. No descriptor stays open, and the run ends. The input
// chooses the job, then the frames.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "io/digest.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/sessions/frame_maker.h"
#include "tests/fuzz/sessions/scripted_stream.h"
#include "tests/fuzz/sessions/tree_state.h"
#include "tests/fuzz/targets.h"
#include "tree/fs/own_names.h"
#include "tree/resume/clean.h"
#include "tree/resume/part_file.h"
#include "tree/target/target.h"

namespace rdcp::fuzz {
namespace {

using tree::OwnName;
using tree::Target;
using tree::TargetJob;

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kFramesMax = 24;
constexpr net::StreamShape kShape{.target_slots = kSlots, .slot_bytes = kSlotBytes};

// The directories that all runs of a process share: the canary stays, DST is made anew each time.
class Place {
 public:
  Place() {
    // A frame may name any size; the machine's memory is not ours to fill.
    const rlimit limit{64 << 20, 64 << 20};
    ::signal(SIGXFSZ, SIG_IGN);
    require(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    require(::mkdirat(scratch_.fd(), "canary", 0750) == 0 &&
            ::mkdirat(scratch_.fd(), "canary/dir", 0700) == 0);
    scratch_.write("canary/file", "sings");
    scratch_.write("canary/dir/below", "sings, too");
    require(::symlinkat("file", scratch_.fd(), "canary/link") == 0);
    require(::linkat(scratch_.fd(), "canary/file", scratch_.fd(), "canary/hard", 0) == 0);
    canary_.reset(::open((scratch_ / "canary").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    output_.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    require(bool(canary_) && bool(output_));
    before_ = state_of(canary_.get());
  }

  const Scratch& scratch() const { return scratch_; }
  std::string canary() const { return scratch_ / "canary"; }
  std::string destination() const { return scratch_ / "dst"; }
  int output() const { return output_.get(); }  // where a job writes that has standard output for its DST
  void check_canary() const { require(state_of(canary_.get()) == before_); }

  void make_destination(bool with_part, bool with_marker, const std::string& marker) {
    remove_destination();
    require(::mkdirat(scratch_.fd(), "dst", 0755) == 0);
    const auto write = [&](const char* name, std::string_view content) {
      scratch_.write(std::string("dst/") + name, content);
    };
    const auto link = [&](const char* name, const std::string& target) {
      require(::symlinkat(target.c_str(), scratch_.fd(), (std::string("dst/") + name).c_str()) == 0);
    };
    require(::mkdirat(scratch_.fd(), "dst/dir", 0755) == 0);
    write("old", "old");
    write("keep", "stays");
    write("dir/x", "in a directory");
    write(kBigName.data(), big_content());
    require(::linkat(scratch_.fd(), "dst/old", scratch_.fd(), "dst/hard", 0) == 0);
    require(::mkfifoat(scratch_.fd(), "dst/fifo", 0600) == 0);
    link("link", "../canary");
    link("filelink", "../canary/file");
    link("dirlink", "dir");
    link("abs", canary());
    link("loop", "loop");
    const io::Fd root(open_destination());
    if (with_part) leave_part(root.get());
    // Its run is over, and so is its lock.
    if (with_marker) require(tree::RunMarker::make(root.get(), marker, "").has_value());
  }
  io::Fd open_destination() const {
    return io::Fd(::open(destination().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  // Also what a run beneath the parent may have made beside the canary.
  void remove_destination() const {
    for (const auto& [path, state] : state_of(scratch_.fd())) {
      if (path.empty() || path == "canary" || path.find('/') != path.npos) continue;
      const io::Fd below(
          ::openat(scratch_.fd(), path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (below) remove_all_in(below.get());
      require(::unlinkat(scratch_.fd(), path.c_str(), below ? AT_REMOVEDIR : 0) == 0);
    }
  }

 private:
  // As a run that was cut short has left it: its first chunk is there.
  static void leave_part(int root) {
    auto part = tree::PartFile::open(root, kPartName, {.source = {part_token(), kPartBytes}});
    require(part.has_value());
    const std::string content(kSlotBytes, 'p');
    const tree::UnnamedFile file = part->take_file();
    require(io::write_all(file.fd(), content) == 0);
    part->journal().add(0, content.size(), io::digest_of(bytes_of(content)));
  }

  Scratch scratch_;
  io::Fd canary_, output_;
  TreeState before_;
};

struct Run {
  TargetJob job;
  tree::Begin begin;
  bool with_part = false, with_marker = false, ends = false;
  bool only_file = false;  // as for rdrecv: whatever the source says, it can but fill one file
};

Run run_of(Choices& choices, const Place& place) {
  Run run;
  TargetJob& job = run.job;
  const auto bits = choices.number<std::uint32_t>();
  const auto bit = [bits](unsigned at) { return (bits >> at & 1) != 0; };
  tree::CopySettings& settings = job.settings;
  settings.chunk_bytes = kSlotBytes;
  settings.ring = (bits & 0xf) == 0xf ? io::RingChoice::thread_pool : io::RingChoice::automatic;
  settings.delta = bit(4);
  settings.inplace = bit(5);
  settings.checksum = bit(6);
  settings.verify = bit(7) && bit(8);
  settings.resume = !bit(9);
  settings.retry_seconds = bit(10) ? 1 : 0;
  settings.keep_owner = !bit(11);
  settings.numeric_ids = bit(12);
  settings.sync.enabled = bit(13);
  settings.sync.mirror = bit(13) && bit(14);
  settings.sync.delete_extra = bit(13) && bit(15);
  settings.sync.force = bit(16);
  settings.sync.itemize = bit(17);
  settings.sync.dry_run = bit(13) && bit(18) && bit(19);
  settings.sync.checksum = bit(6);
  if (bit(20)) settings.sync.max_delete = bits >> 29;
  settings.sync.update = bit(21) && bit(22);
  settings.sync.existing = bit(23) && bit(22);
  settings.sync.ignore_existing = bit(24) && bit(22);
  job.tree = !(bit(25) && bit(26));
  job.path = place.destination();
  job.streams.connect = tree::Connect::listen;
  job.selection.rules.push_back({.pattern = "keep"});
  // As the coordinator has it: a mirror compares anyhow.
  if (!settings.sync.enabled) job.marker = tree::run_name("fuzz");
  run.begin.streams = bit(27) ? 2 : 1;
  run.begin.beneath_parent = bit(28);
  run.begin.landings = {run.begin.beneath_parent ? "dst" : ""};
  const std::size_t kind = choices.below(8);
  if (kind == 6) {
    run.only_file = true;
    job.path += "/dir/only";
    run.begin.beneath_parent = false;
  }
  if (kind == 7) job.standard_output = run.begin.in_place = true;
  run.with_part = choices.flag();
  run.with_marker = choices.flag() && !job.marker.empty();
  run.ends = choices.flag();
  return run;
}

Agreement agreement_of(const Run& run) {
  const tree::CopySettings& settings = run.job.settings;
  return {.streams = run.begin.streams,
          .syncs = settings.sync.enabled,
          .deletes = settings.sync.delete_extra,
          .probes = settings.delta || settings.checksum,
          .asks = settings.resume,
          .one_at_a_time = settings.inplace,
          .landing = run.begin.landings.front()};
}

// The frames of each stream, as the input has them.
std::vector<std::deque<Sent>> frames_of(FrameMaker& maker, const Choices& choices, std::size_t streams) {
  std::vector<std::deque<Sent>> frames(streams);
  for (std::size_t count = 0; count < kFramesMax && choices.more(); ++count) {
    Sent sent = maker.next();
    const bool can_come = net::takes_slot(sent.frame.kind) && is_well_formed(sent.frame);
    if (can_come) frames[sent.stream].push_back(std::move(sent));
  }
  return frames;
}

void check_told_change(const tree::Change& change) {
  require(change.code.size() == 11 && io::visible(change.code) == change.code);
  require(change.path.find('\0') == std::string::npos);
}

// The run itself. Returns false if it could not begin.
bool copy(const Run& run, const Place& place, FrameMaker& maker, const Choices& choices) {
  tree::Reporter reporter([](const tree::Problem& problem) {
    require(!problem.text.empty() && io::visible(problem.text) == problem.text);
  });
  Target target(run.job, reporter, {.output = place.output(), .output_name = "standard output"});
  target.tell_changes(
      [](const tree::Changes& changes) { std::ranges::for_each(changes.list, check_told_change); });
  if (run.only_file) target.take_only_one_file(0640);
  (void)target.open();
  if (!target.begin(run.begin)) return false;
  std::vector<tree::StreamMaker> makers;
  for (const std::deque<Sent>& frames : frames_of(maker, choices, run.begin.streams)) {
    makers.push_back([&run, frames](io::Ring& ring, io::Arena& arena) {
      return std::make_unique<SourceScript>(ring, kShape, arena, frames, run.ends);
    });
  }
  target.copy(makers, kShape);
  (void)target.result();
  return true;
}

// What is left of rdcp's own after `rdcp --clean` of the directory beneath which everything was put.
void check_cleaned(const Place& place, const Run& run) {
  tree::Reporter reporter([](const tree::Problem&) {});
  const std::string root = run.begin.beneath_parent ? place.scratch().path() : place.destination();
  tree::clean({.path = root, .remove = true}, reporter, [](const tree::Leftovers&) { return true; });
  for (const auto& [path, state] : state_of(place.scratch().fd())) {
    require(tree::own_name(path.substr(path.rfind('/') + 1)) == OwnName::none);
  }
}

void check_names_beside(const Place& place) {
  for (const auto& [path, state] : state_of(place.scratch().fd())) {
    const std::string top = path.substr(0, path.find('/'));
    require(top.empty() || top == "canary" || top == "dst" || tree::own_name(top) != OwnName::none);
  }
}

}  // namespace

void fuzz_target(Bytes input) {
  static Place place;
  Choices choices(input);
  const Run run = run_of(choices, place);
  place.make_destination(run.with_part, run.with_marker, run.job.marker);
  const io::Fd destination = place.open_destination();
  const TreeState before = state_of(destination.get());
  FrameMaker maker(choices, agreement_of(run), place.canary());
  const int descriptor = next_descriptor();
  if (!copy(run, place, maker, choices)) return;
  require(next_descriptor() == descriptor);

  place.check_canary();
  check_names_beside(place);
  const TreeState after = state_of(destination.get());
  if (run.job.settings.sync.dry_run) require(after == before);
  if (!maker.has_sent("keep")) require(after.contains("keep") && after.at("keep") == before.at("keep"));
  if (!maker.has_sent("rdcp-")) check_cleaned(place, run);
}

}  // namespace rdcp::fuzz
