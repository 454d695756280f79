#include "tree/handlers/small_files.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "io/whole_range.h"
#include "io/write_all.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

SmallFiles::SmallFiles(TargetContext& context)
    : context_(context), reader_(context.session.guards.admitted) {}

AckStatus SmallFiles::unpack(std::span<const std::byte> chunk) {
  const auto opened = reader_.open(chunk);
  if (!opened) {
    context_.fail(opened.error());
    return AckStatus::refused;
  }
  bool all_put = true;
  for (;;) {
    const auto more = context_.next_entry(reader_, entry_);
    if (!more) context_.fail(more.error());
    if (!more || !*more || context_.giving_up()) break;
    const bool is_put = settle(entry_, put(entry_, reader_));
    if (is_put) context_.session.tally.bytes += entry_.size;
    all_put = all_put && is_put;
  }
  return context_.answer_of(all_put);
}

bool SmallFiles::settle(const Entry& entry, const io::Result<void>& put) {
  if (context_.session.guards.ledger) context_.session.guards.ledger->entries.remove(entry.path.text());
  if (put) {
    context_.session.guards.not_put.remove(entry.path.text());
  } else {
    context_.session.guards.not_put.add(entry.path.text());
    context_.report(put.error());
  }
  return put.ok();
}

io::Result<void> SmallFiles::put(const Entry& entry, ArchiveReader& content) {
  if (context_.tree == nullptr) return write_in_place(content);
  TargetTree& tree = *context_.tree;
  if (entry.attributes_only) return tree.set_attributes(entry);
  switch (entry.type) {
    case EntryType::file:
      return tree.put_file(entry, content);
    case EntryType::directory:
      return tree.finish_directory(entry);
    case EntryType::hard_link:
      if (auto may = context_.may_link(entry); !may) return may;
      return tree.put_special(entry);
    default:
      return tree.put_special(entry);
  }
}

// Returns an errno, or 0. A reader that takes its time does not keep the run from ending.
int SmallFiles::write_in_order(std::span<const std::byte> bytes) const {
  const TargetSession& session = context_.session;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return io::write_all(session.place.in_place.get(), text,
                       {.before = {}, .give_up = [&session] { return session.stopped(); }});
}

// A small file for a device, a FIFO or standard output.
io::Result<void> SmallFiles::write_in_place(ArchiveReader& content) const {
  const TargetPlace& place = context_.session.place;
  for (;;) {
    const auto block = content.next_block();
    if (!block) return block.error();
    if (!*block) return {};
    const auto& [bytes, offset] = **block;
    const int code =
        place.ordered ? write_in_order(bytes) : io::write_range(place.in_place.get(), bytes, offset);
    if (code != 0) return io::errno_error("write", place.name, code);
  }
}

}  // namespace rdcp::tree
