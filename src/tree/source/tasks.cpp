#include "tree/source/tasks.h"

#include <algorithm>
#include <utility>

namespace rdcp::tree {

namespace {

std::string subject(const Batch& batch) {
  return batch.items[batch.settled].subject();
}

}  // namespace

Filling fill(Task& task, std::span<std::byte> slot, TaskContext& context) {
  return std::visit([&](auto& one) -> Filling { return fill(one, slot, context); }, task);
}

std::optional<Task> settle(Task& task, const SlotAnswer& answer, TaskContext& context) {
  return std::visit([&](auto& one) { return settle(one, answer, context); }, task);
}

std::string subject_of(const Task& task) {
  if (const FileTransfer* file = file_of(task)) return file->item().subject();
  if (const auto* pack = std::get_if<PackTask>(&task)) return subject(pack->batch);
  if (const auto* compare = std::get_if<CompareTask>(&task)) return subject(compare->batch);
  if (const auto* names = std::get_if<NamesTask>(&task)) return names->names.root->given;
  if (std::holds_alternative<PassTask>(task)) return "a chunk that is passed on";
  return "stream " + std::to_string(std::get<LostTask>(task).stream + 1);
}

bool keep_for_another_stream(Task& task, const FilledSlot& filled, std::span<const std::byte> slot) {
  const auto keep = [&](std::vector<std::byte>& sent) {
    if (filled.frame.kind == net::FrameKind::probe) sent.assign(slot.begin(), slot.begin() + filled.length);
  };
  if (auto* probe = std::get_if<ProbeTask>(&task)) keep(probe->sent);
  if (auto* chunks = std::get_if<ChunksTask>(&task)) keep(chunks->sent);
  const auto* data = std::get_if<DataTask>(&task);
  return data == nullptr || !data->file->is_byte_stream();
}

FilledSlot fill(LostTask& task, std::span<std::byte>, TaskContext&) {
  net::Frame frame;
  frame.kind = net::FrameKind::lost;
  frame.offset = task.stream;
  return FilledSlot(frame);
}

std::optional<Task> settle(LostTask& task, const SlotAnswer&, TaskContext& context) {
  context.session.plan().settle_lost(task.stream);
  return std::nullopt;
}

// A device sends from its arena only, so the chunk is copied there; everything else sends it from where it
// is.
FilledSlot fill(PassTask& task, std::span<std::byte> slot, TaskContext& context) {
  const std::span<const std::byte> payload = task.chunk->payload();
  FilledSlot filled(task.chunk->frame(), payload.size());
  if (context.sends_from_arena) {
    std::ranges::copy(payload, slot.begin());
  } else {
    filled.elsewhere = payload.data();
  }
  return filled;
}

std::optional<Task> settle(PassTask& task, const SlotAnswer& answer, TaskContext& context) {
  task.chunk.answer({answer.status, answer.verdicts});
  context.session.plan().settle_passed();
  return std::nullopt;
}

}  // namespace rdcp::tree
