// Pages of a mirror: entries that are compared, and names of directories by which others are removed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tree/mirror/comparer.h"
#include "tree/mirror/pruner.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread; made where the job is a sync.
class MirrorPages {
 public:
  // context: outlives this; it has a tree.
  explicit MirrorPages(TargetContext& context);

  // A page of what the source has: says of each entry what becomes of it, and tells the changes.
  net::AckStatus compare(const net::Frame& frame, std::span<const std::byte> page, net::Verdicts& verdicts);
  // Takes digests or names of the source's directories: says which differ here, or removes what is extra.
  net::AckStatus prune(const net::Frame& frame, std::span<const std::byte> page, net::Verdicts& verdicts);

  Comparer& comparer() { return comparer_; }

 private:
  void use_links();
  void note_verdict(const Question& question, Verdict verdict);
  bool link(const Question& question);
  io::Result<Verdict> judge(const Question& question, Changes& changes);
  bool is_about_closed(const NamesPage& page) const;

  TargetContext& context_;
  Comparer comparer_;
  Pruner pruner_;
  std::vector<std::unique_ptr<Comparer>> links_;  // one for each directory of --link-dest
};

}  // namespace rdcp::tree
