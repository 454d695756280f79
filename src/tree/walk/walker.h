// Lists the sources, in parallel, and hands what it finds to the plan while it goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "io/thread.h"
#include "tree/plan/plan.h"
#include "tree/plan/root.h"
#include "tree/select/choice.h"
#include "tree/walk/read_context.h"
#include "tree/walk/shared_places.h"

namespace rdcp::tree {

// Says which files go into batches and which go alone.
struct WalkLimits {
  std::uint64_t small_file_max = 0;  // larger files go alone, by extents
  std::uint64_t batch_bytes = 0;     // about how much of an archive chunk a batch should fill
  std::size_t batch_items = 512;
  bool compares = false;  // sync: all goes into batches, and a directory's own metadata before its content
  // With --checksum, files up to this size are opened to be asked about, and their xattrs are read then.
  std::optional<std::uint64_t> digest_max;
};

// Walks depth first with getdents64 and fstatat; several threads share the directories. Beneath each root
// everything is opened through open_beneath(), so a directory that is swapped for a symlink during the walk
// leads nowhere. Directories that the filter hides are not entered. What lands where an entry of an earlier
// SRC lands is reported and left. Memory is bounded by the depth and one
// buffer of names at each level, plus what the plan holds. From a depth of kHeldOpen on, a directory keeps
// its position but not its descriptor while those in it are walked.
class Walker {
 public:
  Walker(Plan& plan, const std::vector<Root>& roots, const Choice& choice, const WalkLimits& limits,
         const ReadContext& reading);
  ~Walker();  // stops the plan if the walk is not over, and joins

  // Starts up to this many threads, as many as the system allows. It is an error if it allows none.
  io::Result<void> start(unsigned threads);

 private:
  class Thread;
  static constexpr std::size_t kHeldOpen = 64;
  static constexpr std::size_t kOffered = 64;

  void add_top(const Root& root);
  bool take_offered(DirectoryRef& directory);
  bool wants_offer();
  bool offer(DirectoryRef& directory);
  void run_thread();
  void walk_singles();

  Plan& plan_;
  const std::vector<Root>& roots_;
  const Choice& choice_;
  const SharedPlaces shared_;
  const WalkLimits limits_;
  const ReadContext reading_;

  std::mutex mutex_;
  std::condition_variable offered_changed_;
  std::deque<DirectoryRef> offered_;
  unsigned idle_threads_ = 0;
  unsigned thread_count_ = 0;
  unsigned running_threads_ = 0;
  bool over_ = false;

  std::vector<io::Thread> threads_;
};

}  // namespace rdcp::tree
