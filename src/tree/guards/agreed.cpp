#include "tree/guards/agreed.h"

#include <algorithm>
#include <array>

namespace rdcp::tree {

using net::FrameKind;

namespace {

constexpr std::uint8_t kAnyFlags = 0;

struct FrameRule {
  FrameKind kind;
  std::uint8_t flag;  // the rule is for frames with this flag; kAnyFlags: for all of this kind
  Terms needs;
  const char* fault;
};

constexpr const char* kDryRun = "a change in a dry run";
constexpr const char* kNotLost = "a chunk again, though no stream was lost";

// A kind without a rule for kAnyFlags is not one that a source sends. A flag without a rule does not belong
// to its kind.
constexpr std::array kFrameRules = {
    FrameRule{FrameKind::archive, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::archive, kAnyFlags, kManyFiles, "an archive where one stream was agreed on"},
    FrameRule{FrameKind::archive, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::open, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::open, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::open, net::kFlagSparse, kHasTree | kManyFiles, "holes where none were agreed on"},
    FrameRule{FrameKind::open, net::kFlagCompare, kComparesFiles,
              "a file that is only compared, which was not agreed on"},
    FrameRule{FrameKind::data, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::data, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::commit, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::commit, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::copy_range, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::copy_range, kAnyFlags, kByKernel, "a kernel copy that was not agreed on"},
    FrameRule{FrameKind::abandon, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::abandon, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::lost, kAnyFlags, kLosesStreams, "the loss of a stream that does not exist"},
    FrameRule{FrameKind::compare, kAnyFlags, kSyncs, "a comparison that was not agreed on"},
    FrameRule{FrameKind::compare, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::names, kAnyFlags, kDeletes, "a deletion that was not agreed on"},
    FrameRule{FrameKind::names, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::probe, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::probe, kAnyFlags, kHasOldFiles, "a probe that was not agreed on"},
    FrameRule{FrameKind::probe, net::kFlagAgain, kHasLostOne, kNotLost},
    FrameRule{FrameKind::ask, kAnyFlags, kChanges, kDryRun},
    FrameRule{FrameKind::ask, kAnyFlags, kResumes, "a question about a part that was not agreed on"},
};

bool has(Terms terms, Terms wanted) {
  return (terms & wanted) == wanted;
}

}  // namespace

Terms terms_of(const TargetJob& job, std::uint16_t streams, bool one_stream, bool in_place) {
  const CopySettings& settings = job.settings;
  const bool local = job.streams.connect == Connect::in_process;
  const bool tree = !one_stream && !in_place;
  Terms terms = 0;
  const auto set_if = [&terms](bool holds, Term term) {
    if (holds) terms |= term;
  };
  set_if(!settings.sync.dry_run, kChanges);
  set_if(!one_stream, kManyFiles);
  set_if(!in_place, kHasTree);
  set_if(tree && job.tree, kKinds);
  set_if(tree && settings.sync.enabled, kSyncs);
  set_if(tree && settings.sync.enabled && settings.sync.delete_extra, kDeletes);
  set_if(tree && settings.checksum, kComparesFiles);
  set_if(tree && (settings.checksum || (settings.delta && !local)), kHasOldFiles);
  set_if(tree && settings.resume, kResumes);
  // A copy within the kernel has no digest that could be verified.
  set_if(local && !one_stream && !settings.verify, kByKernel);
  set_if(streams > 1 || settings.retry_seconds > 0, kLosesStreams);
  return terms;
}

const char* fault_of(Terms terms, const net::Frame& frame) {
  bool known = false;
  std::uint8_t known_flags = 0;
  for (const FrameRule& rule : kFrameRules) {
    if (rule.kind != frame.kind) continue;
    if (rule.flag == kAnyFlags) known = true;
    known_flags |= rule.flag;
    const bool applies = rule.flag == kAnyFlags || (frame.flags & rule.flag) != 0;
    if (applies && !has(terms, rule.needs)) return rule.fault;
  }
  if (!known) return "a frame that a source may not send";
  return (frame.flags & ~known_flags) != 0 ? "unknown flags" : nullptr;
}

const char* fault_of(Terms terms, const Entry& entry) {
  const bool file = entry.type == EntryType::file;
  if (!file && !has(terms, kHasTree | kManyFiles)) return "a tree for a target that is one file";
  // Even without -r, several SRC may be hard links to one file.
  const bool name = file || entry.type == EntryType::hard_link;
  if (!name && !has(terms, kKinds)) return "more than files, which was not agreed on";
  if (entry.attributes_only && !has(terms, kSyncs)) return "metadata alone, which was not agreed on";
  return nullptr;
}

}  // namespace rdcp::tree
