// Removes what was copied from the source (--remove-source-files).
#pragma once

#include <sys/stat.h>

#include "io/fd.h"
#include "tree/plan/item.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// The only place that removes anything at a source. One per worker; not thread-safe.
class SourceRemover {
 public:
  // wanted: false if nothing is to be removed.
  SourceRemover(bool wanted, Reporter& reporter) : wanted_(wanted), reporter_(reporter) {}

  // Removes an entry that is no directory, of which the target has a copy. seen: its status when the copy was
  // made; what has changed since then is left, and reported.
  void remove(const Item& item, const struct stat& seen);
  // Removes those items of the batch that are in the chunk that the target has just taken as a whole.
  void remove_packed(const Batch& batch);
  // Closes the directory that is kept open between calls.
  void let_go();

 private:
  int directory_of(const Item& item);

  const bool wanted_;
  Reporter& reporter_;
  DirectoryRef held_directory_;
  io::Fd held_fd_;
};

}  // namespace rdcp::tree
