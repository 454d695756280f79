#include "tree/session/target_session.h"

#include <cerrno>

#include "tree/resume/own_lock.h"

namespace rdcp::tree {
namespace {

// Returns true for errors that all later files would meet, too.
bool concerns_everything(const io::Error& error) {
  return error.kind == io::ErrorKind::protocol || error.code == ENOSPC || error.code == EDQUOT ||
         error.code == EROFS || error.code == EPIPE;
}

}  // namespace

void TargetSession::fail(const io::Error& error) {
  reporter_.fatal(error);
  refusing_ = true;
}

void TargetSession::report(const io::Error& error) {
  if (concerns_everything(error)) {
    fail(error);
  } else {
    reporter_.problem(error);
  }
}

Done TargetSession::result(bool complete) const {
  Done done = tally.done();
  done.complete = complete;
  const auto lost = streams.lost();
  if (done.complete) done.lost_streams.assign(lost.begin(), lost.end());
  for (const auto& item : losses_.items()) {
    done.losses.push_back({item.kind, item.count, item.first_path, item.cause});
  }
  for (const std::string& why : earlier.links.missing) done.warnings.push_back(why);
  if (tally.lacks_locks) done.warnings.push_back(place.name + ": " + kNoLocks);
  if (guards.spellings.is_full()) {
    done.warnings.push_back("not compared in upper and lower case: names beyond the first " +
                            std::to_string(Spellings::kRemembered));
  }
  if (job.settings.verify && place.in_place) {
    done.warnings.push_back("not verified: " + place.name + " is written in place, as devices and pipes are");
  } else if (job.settings.verify) {
    done.notes.push_back(
        tally.read_from_cache
            ? "verified: some of it through the page cache, because the filesystem supports nothing else"
            : "verified: everything was read back from the disk");
  }
  return done;
}

}  // namespace rdcp::tree
