// Whatever lies on the disk as a run's marker, and whatever names stand beside it: a marker is trusted only
// if it begins with this mount's stamp, and rdcp's own names are told from others by their form alone.
#include <climits>

#include "tests/fuzz/scratch.h"
#include "tests/fuzz/targets.h"
#include "tree/fs/own_names.h"
#include "tree/resume/mount_stamp.h"
#include "tree/resume/run_marker.h"

namespace rdcp::fuzz {
namespace {

using tree::OwnName;
using tree::RunMarker;

// Also of names that no filesystem would take: a peer's words are judged, too.
void check_name(std::string_view name) {
  const OwnName kind = tree::own_name(name);
  require(tree::is_left_by_a_run(name) ==
          (kind == OwnName::part || kind == OwnName::journal || kind == OwnName::run));
  require(kind == OwnName::none || name.starts_with('.'));
  if (kind == OwnName::part) require(tree::part_of_journal(tree::journal_of_part(name)) == name);
  if (kind == OwnName::journal) require(tree::journal_of_part(tree::part_of_journal(name)) == name);
}

void check_made_names(std::string_view name) {
  const tree::PartNames names(name);
  require(tree::own_name(names.part) == OwnName::part && tree::own_name(names.journal) == OwnName::journal);
  require(tree::part_of_journal(names.journal) == names.part);
  require(tree::own_name(tree::run_name(name)) == OwnName::run);
  const std::string temporary = tree::temporary_name(name);
  require(temporary.size() <= NAME_MAX && tree::own_name(temporary) == OwnName::temporary);
}

void check_content(std::string_view content) {
  static const Scratch scratch;
  static const std::string name = tree::run_name("a job");
  static const auto stamp = tree::mount_stamp(scratch.fd());
  char digits[20] = "";
  if (stamp) std::snprintf(digits, sizeof digits, "%016llx\n", static_cast<unsigned long long>(*stamp));
  scratch.write(name, content);
  const bool same = stamp && content.starts_with(digits);
  const auto look = [] { return RunMarker::look(scratch.fd(), name, [] { return false; }); };
  require(look() == (same ? RunMarker::Found::trusted : RunMarker::Found::doubtful));
  const std::string beside = RunMarker::made_beside(scratch.fd(), name);
  require(beside.size() <= NAME_MAX + 16 && content.find(beside) != content.npos);
  auto marker = RunMarker::make(scratch.fd(), name, "DST");
  require(marker.has_value() && !marker->is_new());
  require(look() == RunMarker::Found::in_use);
  require(marker->remove(scratch.fd()).ok());
  require(look() == RunMarker::Found::none);
}

}  // namespace

void fuzz_marker(Bytes input) {
  Choices choices(input);
  const bool stamped = choices.flag();
  const std::string_view name = choices.piece();
  const std::string_view content = choices.rest();
  check_name(name);
  check_name(content);
  if (!name.empty()) check_made_names(name);
  if (!stamped) return check_content(content);
  static const Scratch scratch;
  const auto stamp = tree::mount_stamp(scratch.fd());
  char digits[20] = "";
  if (stamp) std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(*stamp));
  check_content(digits + std::string(content));
}

}  // namespace rdcp::fuzz
