// Asks the target about the items of a batch, and takes its answers (sync).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/stream/frame.h"
#include "tree/fs/directory_cursor.h"
#include "tree/messages/job.h"
#include "tree/pages/compare.h"
#include "tree/plan/item.h"
#include "tree/plan/plan.h"
#include "tree/walk/read_context.h"

namespace rdcp::tree {

// One per worker; not thread-safe.
class CompareRequester {
 public:
  // is_compared_open() explains digest_max.
  CompareRequester(Plan& plan, const SyncSettings& sync, std::uint64_t digest_max,
                   const ReadContext& reading);

  // Fills the slot with questions about batch.items from batch.compared on, and moves batch.asked_until.
  // Returns the bytes used, or 0 if there is nothing to ask about.
  std::size_t ask(Batch& batch, std::span<std::byte> slot);
  // Takes the answers to the last page of this batch, and moves batch.compared. Discounts in the plan what
  // need not be copied.
  void take(Batch& batch, const net::Verdicts& verdicts);
  // Returns true if something of the batch is to be sent.
  static bool has_work(const Batch& batch);

 private:
  bool make_question(const Item& item);
  void take_one(Item& item, Verdict verdict);
  void note_change(const DirectoryRef& directory);
  io::Fd open(const Item& item, int flags);
  bool add_xattrs(int fd, bool is_path_fd);
  DirectoryCursor& held(const Root& root);

  Plan& plan_;
  const SyncSettings sync_;
  const std::uint64_t digest_max_;
  const ReadContext reading_;
  QuestionWriter writer_;
  Question question_;
  const Root* held_root_ = nullptr;
  std::unique_ptr<DirectoryCursor> held_;
  std::vector<std::byte> buffer_;
};

}  // namespace rdcp::tree
