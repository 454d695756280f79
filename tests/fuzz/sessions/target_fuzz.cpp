// A whole target against a source that lies. Whatever it is sent: nothing outside DST changes, a dry run
// changes nothing at all, what a rule protects stays, and --clean removes all that is left of rdcp's own. No
// descriptor stays open, and the run ends. The input chooses the job, then the frames.
#include <algorithm>
#include <memory>

#include "tests/fuzz/sessions/scripted_stream.h"
#include "tests/fuzz/sessions/target_place.h"
#include "tests/fuzz/sessions/target_run.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {
namespace {

// The run itself. output: where a job writes that has standard output for its DST. Returns false if it could
// not begin.
bool copy(const TargetRun& run, int output, FrameMaker& maker, const Choices& choices) {
  tree::Reporter reporter(check_told_problem);
  tree::Target target(run.job, reporter, {.output = output, .output_name = "standard output"});
  target.tell_changes(
      [](const tree::Changes& changes) { std::ranges::for_each(changes.list, check_told_change); });
  if (run.only_file) target.take_only_one_file(0640);
  (void)target.open();
  if (!target.begin(run.begin)) return false;
  std::vector<tree::StreamMaker> makers;
  for (const std::deque<Sent>& frames : frames_of(maker, choices, run.begin.streams)) {
    makers.push_back([&run, frames](io::Ring& ring, io::Arena& arena) {
      return std::make_unique<SourceScript>(ring, kTargetShape, arena, frames, run.ends,
                                            run.job.standard_output);
    });
  }
  target.copy(makers, kTargetShape);
  (void)target.result();
  return true;
}

}  // namespace

void fuzz_target(Bytes input) {
  static DestinationPlace place;
  static const io::Fd output(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Choices choices(input);
  const TargetRun run = run_of(choices, place.destination());
  place.make_destination(run.with_part, run.earlier_marker(), place.canary());
  const io::Fd destination = place.open_destination();
  const TreeState before = state_of(destination.get());
  FrameMaker maker(choices, agreement_of(run), place.canary());
  const int descriptor = next_descriptor();
  if (!copy(run, output.get(), maker, choices)) return;
  require(next_descriptor() == descriptor);

  place.check_surroundings();
  const TreeState after = state_of(destination.get());
  if (run.job.settings.sync.dry_run) require(after == before);
  if (!maker.has_sent("keep")) require(after.contains("keep") && after.at("keep") == before.at("keep"));
  if (!maker.has_sent("rdcp-")) place.check_cleaned(run.begin.beneath_parent);
}

}  // namespace rdcp::fuzz
