// What comes by the page at the target: archives of small files, entries to be compared, names.
#include <unistd.h>

#include <string_view>
#include <utility>

#include "io/write_all.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

// A batch of small files. What goes wrong with one of them is told, and the others are put in place.
AckStatus TargetWorker::unpack(std::span<const std::byte> chunk) {
  const auto opened = reader_.open(chunk);
  if (!opened) {
    fail(opened.error());
    return AckStatus::refused;
  }
  for (;;) {
    const auto more = next_entry(reader_, entry_);
    if (!more) fail(more.error());
    if (!more || !*more || giving_up()) break;
    const auto put = put_entry();
    if (!put) {
      target_.not_put_.add(entry_.path);
      report(put.error());
    } else {
      target_.not_put_.remove(entry_.path);
      target_.bytes_ += entry_.size;
    }
  }
  return target_.refusing() ? AckStatus::refused : AckStatus::done;
}

// A page of what the source has: says of each entry what becomes of it, and tells the user.
AckStatus TargetWorker::compare(const net::Frame& frame, std::span<const std::byte> page,
                                net::Verdicts& verdicts) {
  QuestionReader reader(target_.admitted_);
  Question question;
  Changes changes;
  const auto opened = reader.open(page);
  if (!opened) fail(opened.error());
  for (std::size_t i = 0; opened && !giving_up(); ++i) {
    const auto more = reader.next(question);
    if (!more) fail(more.error());
    if (!more || !*more) break;
    const auto spelled = target_.spellings_.claim(question.entry.path, tree_->subject(question.entry.path));
    const auto verdict =
        spelled ? comparer_->compare(question, changes.list) : io::Result<Verdict>(spelled.error());
    if (!verdict) report(verdict.error());
    verdicts.set(i, static_cast<std::uint8_t>(verdict ? *verdict : Verdict::refused));
    // What is left of a run that was cut short while it sent the same again.
    const bool whole = verdict && (*verdict == Verdict::equal || *verdict == Verdict::metadata);
    const Entry& entry = question.entry;
    if (whole && entry.type == EntryType::file && entry.size >= kPartBytesMin &&
        !target_.job_.settings.sync.dry_run) {
      if (const auto forgotten = tree_->forget_part(entry.path); !forgotten) report(forgotten.error());
    }
  }
  target_.changes_.add(frame.file_id, frame.offset, std::move(changes));
  return target_.refusing() ? AckStatus::refused : AckStatus::done;
}

// What directories of the source hold: says which hold something else here, or removes that.
AckStatus TargetWorker::prune(const net::Frame& frame, std::span<const std::byte> page,
                              net::Verdicts& verdicts) {
  const auto read = read_names_page(page, target_.admitted_);
  if (!read) {
    fail(read.error());
    return AckStatus::refused;
  }
  Changes changes;
  if (!read->sums.empty()) {
    pruner_->compare(read->sums, verdicts);
  } else {
    pruner_->remove_others(read->names, changes.list);
  }
  target_.changes_.add(frame.file_id, frame.offset, std::move(changes));
  return target_.refusing() ? AckStatus::refused : AckStatus::done;
}

io::Result<void> TargetWorker::put_entry() {
  if (target_.in_place_) return write_small_in_place();
  if (auto spelled = target_.spellings_.claim(entry_.path, tree_->subject(entry_.path)); !spelled) {
    return spelled;
  }
  if (entry_.attributes_only) return tree_->set_attributes(entry_);
  switch (entry_.type) {
    case EntryType::file:
      return tree_->put_file(entry_, reader_);
    case EntryType::directory:
      return tree_->finish_directory(entry_);
    case EntryType::hard_link:
      if (target_.not_put_.has(entry_.link_target)) {
        return io::plain_error(ErrorKind::file, "link", tree_->subject(entry_.path),
                               tree_->subject(entry_.link_target) + ", its other name, could not be written");
      }
      return tree_->put_special(entry_);
    default:
      return tree_->put_special(entry_);
  }
}

// errno, or 0. A reader that takes its time does not keep the run from ending.
int TargetWorker::write_in_order(std::span<const std::byte> bytes) const {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return io::write_all(target_.in_place_.get(), text,
                       {.before = {}, .give_up = [this] { return target_.stopped(); }});
}

int TargetWorker::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t n =
        ::pwrite(target_.in_place_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return 0;
}

// A small file for a device, a FIFO or standard output.
io::Result<void> TargetWorker::write_small_in_place() {
  for (;;) {
    const auto block = reader_.next_block();
    if (!block) return block.error();
    if (!*block) return {};
    const int code =
        target_.ordered_ ? write_in_order((*block)->bytes) : write_at((*block)->bytes, (*block)->offset);
    if (code != 0) return io::errno_error("write", target_.root_name_, code);
  }
}

}  // namespace rdcp::tree
