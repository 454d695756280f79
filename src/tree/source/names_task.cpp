// The names of directories (--delete): first the sums of all, then the names of those of which the target has
// others.
#include <utility>

#include "tree/source/tasks.h"

namespace rdcp::tree {

namespace {

std::size_t write_sums(NamesBatch& names, std::span<std::byte> slot) {
  NamesWriter writer;
  writer.begin_sums(slot);
  names.asked_until = names.compared;
  while (names.asked_until < names.sums.size() && writer.add(names.sums[names.asked_until])) {
    ++names.asked_until;
  }
  return names.asked_until > names.compared ? writer.finish() : 0;
}

void take_sums(NamesBatch& names, bool sent, const net::Verdicts& verdicts) {
  for (std::size_t i = names.compared; i < names.asked_until; ++i) {
    if (verdicts.at(i - names.compared) != 0) names.differing.push_back(i);
  }
  // One whose path fits no page is left as it is.
  names.compared = sent ? names.asked_until : names.compared + 1;
}

void take_names(NamesBatch& names, bool sent) {
  if (sent) ++names.part;
  if (names.part < names.parts) return;
  names.differing.pop_back();
  names.parts = 1;
  names.part = 0;
}

}  // namespace

FilledSlot fill(NamesTask& task, std::span<std::byte> slot, TaskContext& context) {
  const Stopwatch watch(context.times.read_busy_ns);
  NamesBatch& names = task.names;
  const bool sums = names.compared < names.sums.size();
  const std::size_t length =
      sums ? write_sums(names, slot) : context.session.names_walk().write_names(names, slot);
  if (length == 0) return FilledSlot(FilledSlot::State::nothing);
  net::Frame frame = bare_frame(net::FrameKind::names, names.serial);
  frame.offset = context.session.plan().first_serial();
  return with_digest(frame, slot, length, context);
}

std::optional<Task> settle(NamesTask& task, const SlotAnswer& answer, TaskContext& context) {
  NamesBatch& names = task.names;
  const bool sent = answer.filled.is_ready();
  if (names.compared < names.sums.size()) {
    take_sums(names, sent, answer.verdicts);
  } else {
    take_names(names, sent);
  }
  const bool more = names.compared < names.sums.size() || !names.differing.empty();
  if (more && !answer.is_failure()) return std::move(task);
  context.session.plan().settle_names(names);
  return std::nullopt;
}

}  // namespace rdcp::tree
