// Opens every SRC that the user named, and says what it is.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "io/result.h"
#include "tree/messages/job.h"
#include "tree/messages/source_wishes.h"
#include "tree/plan/file_transfer.h"
#include "tree/plan/root.h"
#include "tree/protocol/reporter.h"
#include "tree/streams/standard_streams.h"

namespace rdcp::tree {

// Not thread-safe until they are open.
class SourceRoots {
 public:
  // job has the paths and the settings. wishes: follow_links and remove_files count. reporter outlives
  // this.
  SourceRoots(const SourceJob& job, const SourceWishes& wishes, const StandardStreams& standard,
              Reporter& reporter);

  // Returns what each path of the job is; reports those that cannot be used.
  std::vector<PathFacts> open();
  const std::vector<Root>& all() const { return roots_; }
  // Returns the SRC if there is only one and it is a directory, else null.
  const Root* only_directory() const;
  // Sets Entry::path of each path's top. Called before the first worker starts.
  void set_landings(const std::vector<std::string>& landings);
  // Returns a root that is open already as one large file, of known size (block device) or not. Returns null
  // if it is not wanted, or cannot be read, which has been reported.
  FileTransferRef file_of(const Root& root) const;

 private:
  PathFacts open_one(const std::string& path);
  PathFacts open_standard_input();
  PathFacts open_directory(const std::string& path);
  PathFacts open_special(const std::string& path, mode_t mode);
  PathFacts open_single(const std::string& path, const struct stat& status);
  PathFacts refuse(const io::Error& why);
  PathFacts add(Root root, PathKind kind);

  const SourceJob job_;
  const bool follow_links_;
  const bool removes_;
  const StandardStreams standard_;
  Reporter& reporter_;
  std::vector<Root> roots_;
  std::vector<int> root_of_path_;  // index into roots_ or -1, for each path of the job
};

}  // namespace rdcp::tree
