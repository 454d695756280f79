#include "tree/source/source_remover.h"

#include <fcntl.h>
#include <unistd.h>

#include "tree/walk/stability.h"

namespace rdcp::tree {

namespace {

// True if the entry is what it was. Its file gets another ctime when the first of its names is removed, which
// was looked at more closely.
bool is_as_seen(const Item& item, const struct stat& seen, struct stat now) {
  if (item.kind == Item::Kind::hard_link) now.st_ctim = seen.st_ctim;
  return unchanged(seen, now);
}

}  // namespace

int SourceRemover::directory_of(const Item& item) {
  if (held_directory_ != item.directory) {
    held_directory_ = item.directory;
    held_fd_ = item.root().open(item.directory->local_path(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  }
  return held_fd_.get();
}

void SourceRemover::let_go() {
  held_directory_ = nullptr;
  held_fd_.reset();
}

void SourceRemover::remove(const Item& item, const struct stat& seen) {
  if (!wanted_ || item.root().opened) return;
  const int directory = directory_of(item);
  struct stat now {};
  const char* name = item.name.c_str();
  if (directory < 0 || ::fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) != 0) {
    reporter_.problem(io::errno_error("remove", item.subject()));
    return;
  }
  if (!is_as_seen(item, seen, now)) {
    reporter_.problem(io::plain_error(io::ErrorKind::file, "remove", item.subject(),
                                      "it has changed since it was copied, so it stays; copy it again"));
    return;
  }
  if (::unlinkat(directory, name, 0) != 0) reporter_.problem(io::errno_error("remove", item.subject()));
}

void SourceRemover::remove_packed(const Batch& batch) {
  if (!wanted_) return;
  for (std::size_t i = batch.settled; i < batch.next; ++i) {
    const Item& item = batch.items[i];
    const bool is_entry = item.kind == Item::Kind::entry || item.kind == Item::Kind::hard_link;
    // An item that was not `different` was not sent: the copy may be this very file.
    if (is_entry && !item.skipped && item.verdict == Verdict::different) remove(item, item.status);
  }
  let_go();
}

}  // namespace rdcp::tree
