#include "tree/source/compare_requester.h"

#include <fcntl.h>
#include <unistd.h>

#include "io/content_digest.h"
#include "tree/walk/stability.h"
#include "tree/walk/travels.h"

namespace rdcp::tree {

CompareRequester::CompareRequester(Plan& plan, const SyncSettings& sync, std::uint64_t digest_max,
                                   const ReadContext& reading)
    : plan_(plan), sync_(sync), digest_max_(digest_max), reading_(reading) {}

std::size_t CompareRequester::ask(Batch& batch, std::span<std::byte> slot) {
  writer_.begin(slot);
  batch.asked_until = batch.compared;
  while (batch.asked_until < batch.items.size() && writer_.count() < net::Verdicts::kCount) {
    Item& item = batch.items[batch.asked_until];
    item.asked = item.kind != Item::Kind::finish && make_question(item) && writer_.add(question_);
    // A record that does not fit after others begins the next page; one that does not fit alone is not asked
    // about, but sent.
    if (!item.asked && item.kind != Item::Kind::finish && writer_.count() > 0 && !item.skipped) break;
    ++batch.asked_until;
  }
  return writer_.count() == 0 ? 0 : writer_.finish();
}

DirectoryCursor& CompareRequester::held(const Root& root) {
  if (held_root_ != &root) {
    held_root_ = &root;
    held_ = std::make_unique<DirectoryCursor>(root.fd.get());
  }
  return *held_;
}

// Returns false if there is nothing to ask. If the reason is a failure or a change, the item is left for the
// packer, which meets it again and reports it.
bool CompareRequester::make_question(const Item& item) {
  question_.content.reset();
  question_.first_changes = false;
  question_.xattrs = {};
  Entry& entry = question_.entry;
  if (item.kind == Item::Kind::enter) {
    entry = item.directory->metadata();
    entry.type = EntryType::directory;
    entry.path = item.entry_path();
    question_.xattrs = digest_of_xattrs(entry);
    return true;
  }
  entry.xattrs.clear();
  entry.access_acl.clear();
  entry.default_acl.clear();
  reading_.fill(item.status, entry);
  entry.path = item.entry_path();
  entry.link_target = item.link_target;
  const bool digested = sync_.checksum && entry.type == EntryType::file &&
                        item.kind != Item::Kind::hard_link && !is_compared_open(item.status, digest_max_);
  if (digested) {
    const io::Fd fd = open(item, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd || (!item.plain && !add_xattrs(fd.get(), false))) return false;
    wait_for_next_tick(item.status);
    question_.content =
        io::digest_of_file(fd.get(), entry.size, buffer_, [this] { return !plan_.stopped(); });
    struct stat after {};
    return question_.content.has_value() && ::fstat(fd.get(), &after) == 0 && unchanged(item.status, after);
  }
  if (!item.plain) {
    const io::Fd fd = open(item, O_PATH);
    if (!fd || !add_xattrs(fd.get(), true)) return false;
  }
  if (item.kind == Item::Kind::hard_link) {
    question_.linked = entry.type;
    entry.type = EntryType::hard_link;
    entry.first_name = Item::landing_path(*item.link_root, item.link_target);
    question_.first_changes = plan_.linked().is_replaced(item);
  }
  return true;
}

bool CompareRequester::add_xattrs(int fd, bool is_path_fd) {
  if (!reading_.read_xattrs(fd, is_path_fd, question_.entry)) return false;
  question_.xattrs = digest_of_xattrs(question_.entry);
  return true;
}

io::Fd CompareRequester::open(const Item& item, int flags) {
  if (item.root().follows) return item.root().open(item.local_path(), flags);
  const int directory = held(item.root()).open(item.directory->local_path());
  if (directory < 0) return {};
  return io::Fd(::openat(directory, item.name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

void CompareRequester::take(Batch& batch, const net::Verdicts& verdicts) {
  std::size_t at = 0;
  for (; batch.compared < batch.asked_until; ++batch.compared) {
    Item& item = batch.items[batch.compared];
    if (item.kind == Item::Kind::finish) continue;
    take_one(item, item.asked ? static_cast<Verdict>(verdicts.at(at)) : Verdict::different);
    if (item.asked) ++at;
    item.asked = false;
  }
}

// Something in the directory, or itself, is to be written at the target.
void CompareRequester::note_change(const DirectoryRef& directory) {
  if (directory != nullptr && !sync_.dry_run) directory->set_changed();
}

// Decides by the verdict what becomes of the item, and tells its directory.
void CompareRequester::take_one(Item& item, Verdict verdict) {
  item.verdict = verdict;
  if (item.kind == Item::Kind::enter) {
    if (verdict != Verdict::equal) note_change(item.directory);
    if (verdict == Verdict::different) note_change(item.directory->parent());
    item.skipped = true;
  } else {
    if (verdict == Verdict::different) {
      note_change(item.directory);
      plan_.linked().replace(item);
    } else if (S_ISREG(item.status.st_mode)) {
      const bool linked = item.kind == Item::Kind::hard_link;
      plan_.discount(1, linked ? 0 : static_cast<std::uint64_t>(item.status.st_size));
    } else {
      plan_.discount(1, 0);
    }
    if (verdict == Verdict::refused) plan_.linked().pass_on(item);
    item.skipped = verdict == Verdict::equal || verdict == Verdict::refused;
  }
  item.skipped = item.skipped || sync_.dry_run;
}

bool CompareRequester::has_work(const Batch& batch) {
  for (const Item& item : batch.items) {
    if (item.kind == Item::Kind::finish ? item.directory->is_changed() : !item.skipped) return true;
  }
  return false;
}

}  // namespace rdcp::tree
