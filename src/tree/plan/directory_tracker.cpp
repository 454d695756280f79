#include "tree/plan/directory_tracker.h"

#include <utility>

#include "tree/fs/beneath.h"

namespace rdcp::tree {

DirectoryTracker::DirectoryTracker(DirectoryRef parent, std::string_view name, const DirectoryScope& scope)
    : root_(parent->root()),
      parent_(std::move(parent)),
      local_path_(join_path(parent_->local_path(), name)),
      scope_(scope) {
  parent_->add_child();
}

void DirectoryTracker::add_to_batch(std::uint64_t batch) {
  if (batch_ != batch) {
    batch_ = batch;
    in_batch_ = 0;
  }
  ++in_batch_;
}

void DirectoryTracker::add_finish_to_batch(std::uint64_t batch) {
  if (parent_ != nullptr && !offered_) parent_->add_to_batch(batch);
}

bool DirectoryTracker::is_its_own_ancestor() const {
  for (const DirectoryTracker* above = parent_.get(); above != nullptr; above = above->parent_.get()) {
    if (above->id_ == id_) return true;
  }
  return false;
}

bool DirectoryTracker::lies_in_batch(std::uint64_t batch) const {
  constexpr std::int64_t kListing = 1;
  const std::int64_t in_batch = batch_ == batch ? in_batch_ : 0;
  return readable_ && unsettled_.load() == in_batch + kListing;
}

void DirectoryTracker::add_comparison() {
  add_child();
  changed_ = false;
}

void DirectoryTracker::move_item_out() {
  outgrown_ = true;
  changed_ = true;
  add_child();
}

void DirectoryTracker::postpone_finish() {
  if (parent_ != nullptr) parent_->outgrown_ = true;
}

bool DirectoryTracker::finish_behind_last_child() {
  if (!is_to_be_finished() || unsettled_.load() != 1) return false;
  unsettled_.store(2);
  return true;
}

}  // namespace rdcp::tree
