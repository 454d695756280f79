#include "tree/session/target_tally.h"

namespace rdcp::tree {

void TargetTally::note_misread(const std::string& subject) {
  const std::lock_guard lock(mutex_);
  if (misread_++ == 0) first_misread_ = subject;
}

void TargetTally::add_times(const StageTimes& times) {
  const std::lock_guard lock(mutex_);
  done_.times.digest_ns += times.digest_ns;
  done_.times.write_busy_ns += times.write_busy_ns;
  done_.times.write_wait_ns += times.write_wait_ns;
}

void TargetTally::describe_ring(const std::string& description) {
  const std::lock_guard lock(mutex_);
  done_.ring = description;
}

void TargetTally::describe_stream(std::size_t index, const std::string& description) {
  const std::lock_guard lock(mutex_);
  if (done_.streams.size() <= index) done_.streams.resize(index + 1);
  if (!description.empty()) done_.streams[index] = description;
}

Done TargetTally::done() const {
  const std::lock_guard lock(mutex_);
  Done done = done_;
  done.bytes = bytes;
  if (misread_ > 0) {
    done.warnings.push_back("the disk does not hold what was written: " + std::to_string(misread_) +
                            (misread_ == 1 ? " piece" : " pieces") + ", first of " + first_misread_);
  }
  return done;
}

}  // namespace rdcp::tree
