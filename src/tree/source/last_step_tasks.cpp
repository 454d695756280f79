// How a source ends a large file: whether it stayed as it was, its last word, its line in a list.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tree/source/tasks.h"
#include "tree/walk/stability.h"

namespace rdcp::tree {

using net::FrameKind;

namespace {

// Since it was opened.
bool has_changed(const FileTransfer& file, const struct stat& now) {
  return !unchanged(file.opened().seen, now) || file.ended_early();
}

// Returns false if the bytes that were read cannot be recalled: the target has written them in place, or they
// came from a byte stream. Also returns false after kReadTries readings.
bool may_read_again(const FileTransfer& file, const SourceSession& session) {
  return !session.terms().sends_holes && !file.item().root().opened && !file.change_was_told() &&
         file.readings() < kReadTries;
}

// Looks up the file's metadata as they are now. A file that changed while it was read is read again, a few
// times; after that its last reading is sent with a stamp that no later run takes for the file's. Returns
// false if the file is to be given up.
bool take_last_look(FileTransfer& file, SourceSession& session) {
  const Item& item = file.item();
  const Root& root = item.root();
  if (root.opened && !root.begin) return true;
  struct stat now {};
  if (::fstat(file.opened().fd.get(), &now) != 0) {
    session.reporter().problem(io::errno_error("stat", item.subject()));
    return false;
  }
  const bool changed = has_changed(file, now);
  if (changed && may_read_again(file, session)) {
    file.read_again();
    return false;
  }
  if (changed && file.note_change()) {
    session.reporter().problem(changed_error(item.subject(), file.readings() > 1));
  }
  if (!root.opened) {
    if (changed) now.st_mtim = torn_mtime(item.status, now, session.settings().sync);
    file.set_status(now);
  }
  // The given descriptor ends where it would if the file had been read through it.
  const auto end = static_cast<off_t>(file.opened().begin + file.length());
  if (root.begin && ::lseek(session.standard().input, end, SEEK_SET) < 0) {
    session.reporter().problem(io::errno_error("seek in", item.subject()));
  }
  return true;
}

FilledSlot commit(CommitTask& task, std::span<std::byte> slot, TaskContext& context) {
  const Stopwatch watch(context.times.read_busy_ns);
  FileTransfer& file = *task.file;
  net::Frame frame = bare_frame(FrameKind::commit, file.id());
  frame.offset = file.length();
  frame.extra = file.digest();
  if (!task.given_up && take_last_look(file, context.session)) {
    const std::size_t length = context.packer.pack_header(file, slot);
    if (length > 0) return with_digest(frame, slot, length, context);
    // Its metadata no longer fit: give it up rather than publish half of it.
  }
  task.given_up = true;
  return FilledSlot(bare_frame(FrameKind::abandon, file.id()));
}

// Reads a large file's content once more, in order, for its line in a list, since its chunks were read in any
// order. Returns nothing if the digest cannot be computed; a failure has been reported then.
io::Step<std::optional<io::Digest>> digest_in_order(const FileTransfer& file, std::span<std::byte> slot,
                                                    TaskContext& context) {
  io::RunningDigest content;
  for (std::uint64_t at = 0; at < file.length();) {
    io::RingFile place = file.opened().file;
    place.beside = std::exchange(place.resident, false) || place.beside;  // other slots go on meanwhile
    const io::IoResult read = co_await context.ring.read(place, slot, at);
    if (read.error != 0) {
      context.session.reporter().problem(
          io::errno_error("read for the list of digests", file.item().subject(), read.error));
      co_return std::nullopt;
    }
    const std::size_t bytes = std::min<std::uint64_t>(read.bytes, file.length() - at);
    if (bytes == 0) co_return std::nullopt;  // it has become shorter, which the commit meets
    const Stopwatch watch(context.times.digest_ns);
    content.add(slot.first(bytes));
    at += bytes;
  }
  co_return content.finish();
}

Packed sums_of(const FileTransfer& file, const io::Digest& content) {
  SumLine line;
  line.path = file.item().entry_path();
  line.size = file.length();
  line.mtime = file.opened().status.st_mtim.tv_sec;
  line.mtime_ns = static_cast<std::uint32_t>(file.opened().status.st_mtim.tv_nsec);
  line.digest = content;
  line.linked = file.item().status.st_nlink > 1;
  Packed packed;
  packed.sums.push_back(std::move(line));
  return packed;
}

io::Step<FilledSlot> commit_listed(CommitTask& task, std::span<std::byte> slot, TaskContext& context) {
  const auto content = co_await digest_in_order(*task.file, slot, context);
  FilledSlot filled = commit(task, slot, context);
  if (content && !task.file->change_was_told()) filled.packed = sums_of(*task.file, *content);
  co_return filled;
}

// Removes the file from the source, if that is wanted, once the target has all that was read of it. A file
// that was only compared may be the target's own.
void remove_copied(const FileTransfer& file, SourceRemover& remover) {
  if (file.compares() || file.change_was_told()) return;
  remover.remove(file.item(), file.opened().status);
  remover.let_go();
}

std::optional<Task> settle_end(const FileTransferRef& file, const SlotAnswer& answer, TaskContext& context) {
  SourceSession& session = context.session;
  if (answer.is_done() && answer.filled.frame.kind == FrameKind::commit) {
    session.totals().count_file(file->surplus());
    if (session.sums() != nullptr) session.sums()->add(answer.filled.packed.sums);
    remove_copied(*file, context.remover);
  } else if (file->begins_anew()) {
    session.totals().take_back(file->settled_bytes(), file->kept_bytes());
  } else {
    session.plan().linked().pass_on(file->item());
  }
  file->close();
  session.plan().settle_last_step(file);
  return std::nullopt;
}

}  // namespace

Filling fill(CommitTask& task, std::span<std::byte> slot, TaskContext& context) {
  const bool listed = context.session.sums() != nullptr && !task.file->item().root().opened;
  if (listed && !task.given_up) return commit_listed(task, slot, context);
  return commit(task, slot, context);
}

FilledSlot fill(AbandonTask& task, std::span<std::byte>, TaskContext&) {
  return FilledSlot(bare_frame(FrameKind::abandon, task.file->id()));
}

std::optional<Task> settle(CommitTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_end(task.file, answer, context);
}

std::optional<Task> settle(AbandonTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_end(task.file, answer, context);
}

}  // namespace rdcp::tree
