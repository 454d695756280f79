// Batches of small items: compared first (sync), then packed.
#include <utility>

#include "tree/source/tasks.h"

namespace rdcp::tree {

namespace {

// Settles the items that were packed. Returns true if nothing of the batch is left.
bool settle_batch(Batch& batch, Packed packed, SourceSession& session) {
  session.totals().count_packed(packed);
  if (session.sums() != nullptr) session.sums()->add(std::move(packed.sums));
  return session.plan().settle_batch(batch);
}

}  // namespace

FilledSlot fill(PackTask& task, std::span<std::byte> slot, TaskContext& context) {
  const Stopwatch watch(context.times.read_busy_ns);
  const std::size_t length = context.packer.pack(task.batch, slot);
  if (length == 0) return FilledSlot(FilledSlot::State::nothing);
  FilledSlot filled = with_digest(bare_frame(net::FrameKind::archive, 0), slot, length, context);
  filled.packed = context.packer.packed();
  return filled;
}

std::optional<Task> settle(PackTask& task, const SlotAnswer& answer, TaskContext& context) {
  Packed packed = answer.is_done() ? answer.filled.packed : Packed();
  if (answer.is_done()) context.remover.remove_packed(task.batch);
  if (settle_batch(task.batch, std::move(packed), context.session)) return std::nullopt;
  return std::move(task);
}

FilledSlot fill(CompareTask& task, std::span<std::byte> slot, TaskContext& context) {
  const Stopwatch watch(context.times.read_busy_ns);
  const std::size_t length = context.requester.ask(task.batch, slot);
  if (length == 0) return FilledSlot(FilledSlot::State::nothing);
  net::Frame frame = bare_frame(net::FrameKind::compare, task.batch.serial);
  frame.offset = context.session.plan().first_serial();
  return with_digest(frame, slot, length, context);
}

// Takes the answer to a page of the batch. Equal items are settled; the others are sent, by this slot unless
// they have to wait for other batches.
std::optional<Task> settle(CompareTask& task, const SlotAnswer& answer, TaskContext& context) {
  net::Verdicts verdicts = answer.verdicts;
  for (std::size_t i = 0; answer.is_failure() && i < net::Verdicts::kCount; ++i) {
    verdicts.set(i, static_cast<std::uint8_t>(Verdict::refused));
  }
  Batch& batch = task.batch;
  context.requester.take(batch, verdicts);
  if (batch.to_compare()) return std::move(task);
  if (!context.session.plan().settle_comparison(batch)) return std::nullopt;
  if (CompareRequester::has_work(batch)) return PackTask{std::move(batch)};
  batch.next = batch.items.size();
  settle_batch(batch, {}, context.session);
  return std::nullopt;
}

}  // namespace rdcp::tree
