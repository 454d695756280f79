// Each kind of task has two functions: fill() puts a payload and its frame into a slot, and settle() takes
// the target's answer. They are defined by subject: batch_tasks, names_task, open_task, extent_tasks,
// span_tasks, last_step_tasks.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tree/plan/task.h"
#include "tree/source/task_context.h"

namespace rdcp::tree {

FilledSlot fill(PackTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(CompareTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(NamesTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(OpenTask& task, std::span<std::byte> slot, TaskContext& context);
Filling fill(DataTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(CopyRangeTask& task, std::span<std::byte> slot, TaskContext& context);
io::Step<FilledSlot> fill(ProbeTask& task, std::span<std::byte> slot, TaskContext& context);
io::Step<FilledSlot> fill(ChunksTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(AskTask& task, std::span<std::byte> slot, TaskContext& context);
Filling fill(CommitTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(AbandonTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(LostTask& task, std::span<std::byte> slot, TaskContext& context);
FilledSlot fill(PassTask& task, std::span<std::byte> slot, TaskContext& context);

// Each returns the task that follows in the same slot; none if the task is over, or the plan has it.
std::optional<Task> settle(PackTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(CompareTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(NamesTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(OpenTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(DataTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(CopyRangeTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(ProbeTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(ChunksTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(AskTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(CommitTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(AbandonTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(LostTask& task, const SlotAnswer& answer, TaskContext& context);
std::optional<Task> settle(PassTask& task, const SlotAnswer& answer, TaskContext& context);

// These call the function for the task's kind.
Filling fill(Task& task, std::span<std::byte> slot, TaskContext& context);
std::optional<Task> settle(Task& task, const SlotAnswer& answer, TaskContext& context);
// Returns what a task is about, for messages.
std::string subject_of(const Task& task);
// Called when the stream of the slot's content is lost, whether that was sent or not: keeps in the task what
// has to be sent again unchanged. Returns false if the task cannot be done again, because a byte stream
// cannot be read twice.
bool keep_for_another_stream(Task& task, const FilledSlot& filled, std::span<const std::byte> slot);

}  // namespace rdcp::tree
