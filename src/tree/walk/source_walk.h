// Finds what is to be sent: opens every SRC, and starts the walk that fills the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tree/messages/job.h"
#include "tree/messages/source_wishes.h"
#include "tree/protocol/reporter.h"
#include "tree/select/choice.h"
#include "tree/streams/standard_streams.h"
#include "tree/walk/names_walk.h"
#include "tree/walk/source_roots.h"
#include "tree/walk/walker.h"

namespace rdcp::tree {

// Outlives the plan that it fills, because what is in the plan points to the roots here. Life: choose(),
// open(), start(), set_landings(), end(). Not thread-safe.
class SourceWalk {
 public:
  // reporter outlives this.
  SourceWalk(const SourceJob& job, const SourceWishes& wishes, const StandardStreams& standard,
             Reporter& reporter);

  // Chooses what to copy, as the job and the names say. Fails (protocol) as Choice::create does.
  io::Result<void> choose(NamedPaths names);
  // Opens every SRC and returns what each is; reports those that cannot be used.
  std::vector<PathFacts> open() { return roots_.open(); }
  const std::vector<Root>& roots() const { return roots_.all(); }
  // Returns the walk of --delete, or null if nothing is to be deleted. After open().
  std::unique_ptr<NamesWalk> names_walk() const;
  // Starts the walk. Files up to small_file_max bytes go into batches; with --checksum, those up to
  // digest_max are opened to be asked about.
  io::Result<void> start(Plan& plan, const ReadContext& reading, std::uint64_t small_file_max,
                         std::uint64_t digest_max);
  // Sets Entry::path of each SRC's top, in order, as the target decided.
  void set_landings(const std::vector<std::string>& landings) { roots_.set_landings(landings); }
  // Returns Entry::path of the only SRC's top if that is a directory, else null. After set_landings().
  const std::string* only_landing() const;
  // Waits for the threads of the walk. Called when the plan is stopped, and before it goes away.
  void end() { walker_.reset(); }

 private:
  const SourceJob job_;
  Reporter& reporter_;
  Choice choice_;
  SourceRoots roots_;
  std::unique_ptr<Walker> walker_;
};

}  // namespace rdcp::tree
