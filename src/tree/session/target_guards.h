// Decides what the source may do at this target: each name, frame and removal has to pass one of these
// guards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/digest_set.h"
#include "tree/fs/spellings.h"
#include "tree/guards/admitted_names.h"
#include "tree/guards/agreed.h"
#include "tree/guards/removal_gate.h"
#include "tree/messages/job.h"
#include "tree/streams/target_ledger.h"

namespace rdcp::tree {

// Decides what the source may do here. Filled in before the workers start; each part is thread-safe after
// that.
struct TargetGuards {
  explicit TargetGuards(const SyncSettings& sync) : removals(sync) {}

  // Admits the names that land here, or all of them where the name of what is put is fixed. Error: one of the
  // landings is none (protocol).
  io::Result<void> admit(const std::vector<std::string>& landings, bool all);
  // Begins to guard what lies beneath root. own: the name of DST beneath it, or nothing. Error: a rule of the
  // job makes no sense (protocol).
  io::Result<void> begin_removals(int root, const Selection& selection, const std::string& own,
                                  const Begin& begin);

  void keep_ledger() { ledger = std::make_unique<TargetLedger>(); }

  Terms terms = 0;                       // the frames, flags and entries that the job agreed on
  AdmittedNames admitted;                // the names that the source may use
  RemovalGate removals;                  // the names that may be removed
  Spellings spellings;                   // the names that were used, where upper and lower case are one
  io::DigestSet not_put{1 << 20};        // the names that must not be linked to
  io::DigestSet linked_to{1 << 24};      // the names that must not be put any more, where a ledger is kept
  std::unique_ptr<TargetLedger> ledger;  // proves what came; null if none is kept
  std::optional<Entry> only;  // takes the place of each entry that the source sends, except for its mtime
};

}  // namespace rdcp::tree
