// A whole source against a target that lies: answers of all kinds, verdicts that nobody
// can have reached, streams that end. Whatever it is told: nothing of the source's tree changes, each frame
// is one that an honest target takes, nothing but what was asked to be copied is named or read, no descriptor
// stays open, and the run ends. The input chooses the job, then the answers; when it has run out, the target
// is honest.
#include <algorithm>
#include <mutex>

#include "io/digest.h"
#include "tests/fuzz/admitted.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/sessions/frame_maker.h"
#include "tests/fuzz/sessions/lying_credit.h"
#include "tests/fuzz/sessions/scripted_stream.h"
#include "tests/fuzz/sessions/tree_state.h"
#include "tests/fuzz/targets.h"
#include "tree/archive/archive.h"
#include "tree/pages/compare.h"
#include "tree/pages/names_page.h"
#include "tree/pages/probe.h"
#include "tree/source/source.h"

namespace rdcp::fuzz {
namespace {

using net::FrameKind;
using tree::Source;
using tree::SourceJob;

constexpr std::uint32_t kSourceSlots = 3;
constexpr net::StreamShape kSourceShape{.target_slots = kSourceSlots, .slot_bytes = kSlotBytes};
// What lies beside SRC, and must never be sent.
constexpr std::string_view kSecret = "nobody was asked for this";

// SRC, the same for all runs of a process, and what is beside it.
class SourcePlace {
 public:
  SourcePlace() {
    const auto make_directory = [&](const char* name) { require(::mkdirat(scratch_.fd(), name, 0755) == 0); };
    make_directory("src");
    make_directory("src/dir");
    make_directory("src/dir/empty");
    scratch_.write("secret", kSecret);
    scratch_.write("src/file", "content");
    scratch_.write("src/empty", "");
    scratch_.write("src/dir/below", "more content");
    scratch_.write("src/" + std::string(kBigName), big_content());
    scratch_.write("src/larger", std::string(5 * kSlotBytes + 77, 'x'));
    const auto link = [&](const char* target, const char* name) {
      require(::symlinkat(target, scratch_.fd(), name) == 0);
    };
    link("../secret", "src/link");
    link("..", "src/dir/up");
    require(::linkat(scratch_.fd(), "src/file", scratch_.fd(), "src/hard", 0) == 0);
    require(::linkat(scratch_.fd(), "src/larger", scratch_.fd(), "src/dir/hard", 0) == 0);
    require(::mkfifoat(scratch_.fd(), "src/fifo", 0600) == 0);
    const io::Fd holes(::openat(scratch_.fd(), "src/holes", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    require(::pwrite(holes.get(), "end", 3, 300'000) == 3);
    before_ = state_of(scratch_.fd());
  }

  std::string path() const { return scratch_ / "src"; }
  void check_unchanged() const { require(state_of(scratch_.fd()) == before_); }

 private:
  Scratch scratch_;
  TreeState before_;
};

SourceJob job_of(Choices& choices, const SourcePlace& place, std::size_t& streams) {
  SourceJob job;
  const auto bits = choices.number<std::uint16_t>();
  const auto bit = [bits](unsigned at) { return (bits >> at & 1) != 0; };
  tree::CopySettings& settings = job.settings;
  settings.chunk_bytes = kSlotBytes;
  settings.delta = bit(0);
  settings.inplace = bit(1);
  settings.checksum = bit(2);
  settings.sync.checksum = bit(2);
  settings.sync.enabled = bit(3);
  settings.sync.mirror = bit(3) && bit(4);
  settings.sync.delete_extra = bit(3) && bit(5);
  settings.sync.itemize = bit(6);
  settings.sync.dry_run = bit(3) && bit(7) && bit(8);
  settings.sync.max_delete = bit(9) ? 1 : settings.sync.max_delete;
  settings.verify = bit(10);
  settings.resume = bit(11);
  settings.keep_owner = bit(12);
  job.tell_sums = bit(13);
  job.streams.connect = tree::Connect::connect;
  job.paths = {place.path() + "/"};
  job.recursive = true;
  streams = bit(14) ? 2 : 1;
  return job;
}

// An honest target would take this frame.
void check_frame(const net::Frame& frame, Bytes payload) {
  net::Frame plain = frame;
  plain.slot = 0;
  require(is_well_formed(plain) && payload.size() == frame.length);
  require(payload.empty() || io::digest_of(payload) == frame.digest);
  require(text_of(payload).find(kSecret) == std::string_view::npos);
}

void check_archive(Bytes payload) {
  tree::ArchiveReader reader(admitted_names(true));
  require(reader.open(payload).ok());
  tree::Entry entry;
  for (;;) {
    const auto more = reader.next(entry);
    require(more.ok());
    if (!*more) return;
  }
}

void check_page(const net::Frame& frame, Bytes payload) {
  if (frame.kind == FrameKind::names) require(tree::read_names_page(payload, admitted_names(true)).ok());
  if (frame.kind == FrameKind::probe) require(tree::Probe::parse(payload).ok());
  if (frame.kind != FrameKind::compare) return;
  tree::QuestionReader reader(admitted_names(true));
  require(reader.open(payload).ok());
  tree::Question question;
  for (;;) {
    const auto more = reader.next(question);
    require(more.ok());
    if (!*more) return;
  }
}

// The target of one run. The workers of all streams ask it.
class LyingTarget {
 public:
  explicit LyingTarget(Choices& choices) : choices_(choices) {}

  // See TargetScript::Answer.
  std::optional<net::Frame> answer(const net::Frame& frame, Bytes payload) {
    check_frame(frame, payload);
    const bool archive =
        frame.kind == FrameKind::archive || frame.kind == FrameKind::open || frame.kind == FrameKind::commit;
    archive ? check_archive(payload) : check_page(frame, payload);
    const std::lock_guard lock(mutex_);
    require(++frames_ <= kFramesMost);
    return lying_credit(choices_, frame);
  }

 private:
  // The tree needs some 40, and each chunk is sent three times at most.
  static constexpr std::size_t kFramesMost = 400;

  std::mutex mutex_;
  Choices& choices_;
  std::size_t frames_ = 0;
};

void run_source(const SourceJob& job, std::size_t streams, Choices& choices) {
  tree::Reporter reporter([](const tree::Problem& problem) {
    require(!problem.text.empty() && io::visible(problem.text) == problem.text);
  });
  Source source(job, reporter);
  if (job.tell_sums) {
    source.tell_sums([](const tree::Sums& sums) {
      for (const tree::SumLine& line : sums.lines) require(tree::is_safe_path(line.path));
    });
  }
  require(source.open().size() == 1 && source.start_walk().ok());
  source.set_landings({""});
  LyingTarget target(choices);
  const tree::StreamMaker maker = [&target](io::Ring& ring, io::Arena&) {
    return std::make_unique<TargetScript>(
        ring, kSourceShape,
        [&target](const net::Frame& frame, Bytes payload) { return target.answer(frame, payload); });
  };
  source.copy(std::vector<tree::StreamMaker>(streams, maker), kSourceShape);
  (void)source.result();
}

}  // namespace

void fuzz_source(Bytes input) {
  static SourcePlace place;
  Choices choices(input);
  std::size_t streams = 1;
  const SourceJob job = job_of(choices, place, streams);
  const int descriptor = next_descriptor();
  run_source(job, streams, choices);
  require(next_descriptor() == descriptor);
  place.check_unchanged();
}

}  // namespace rdcp::fuzz
