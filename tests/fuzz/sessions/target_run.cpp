#include "tests/fuzz/sessions/target_run.h"

namespace rdcp::fuzz {
namespace {

constexpr std::size_t kFramesMax = 24;

}  // namespace

TargetRun run_of(Choices& choices, const std::string& destination) {
  TargetRun run;
  tree::TargetJob& job = run.job;
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
  job.path = destination;
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
  if (kind == 7) run.begin.streams = 1;  // so its script knows what waits for what
  run.with_part = choices.flag();
  run.with_marker = choices.flag() && !job.marker.empty();
  run.ends = choices.flag();
  return run;
}

Agreement agreement_of(const TargetRun& run) {
  const tree::CopySettings& settings = run.job.settings;
  return {.streams = run.begin.streams,
          .syncs = settings.sync.enabled,
          .deletes = settings.sync.delete_extra,
          .probes = settings.delta || settings.checksum,
          .asks = settings.resume,
          .one_at_a_time = settings.inplace,
          .landing = run.begin.landings.front()};
}

std::vector<std::deque<Sent>> frames_of(FrameMaker& maker, const Choices& choices, std::size_t streams) {
  std::vector<std::deque<Sent>> frames(streams);
  for (std::size_t count = 0; count < kFramesMax && choices.more(); ++count) {
    Sent sent = maker.next();
    const bool can_come = net::takes_slot(sent.frame.kind) && is_well_formed(sent.frame);
    if (can_come) frames[sent.stream].push_back(std::move(sent));
  }
  return frames;
}

void check_told_problem(const tree::Problem& problem) {
  require(!problem.text.empty() && io::visible(problem.text) == problem.text);
}

void check_told_change(const tree::Change& change) {
  require(change.code.size() == 11 && io::visible(change.code) == change.code);
  require(change.path.find('\0') == std::string::npos);
}

}  // namespace rdcp::fuzz
