#include "tree/only_target.h"

namespace rdcp::tree {

TargetJob held_to(const OnlyTarget& only, TargetJob job) {
  job.path = only.path;
  job.standard_output = only.path.empty();
  job.marker.clear();
  job.settings.sync = {};
  job.settings.delta = false;
  job.settings.inplace = false;
  job.settings.resume = false;
  job.settings.retry_seconds = 0;
  job.settings.keep_owner = false;
  job.settings.keep_xattrs = false;
  if (only.cache != io::CacheMode::automatic) job.settings.cache = only.cache;
  if (only.ring != io::RingChoice::automatic) job.settings.ring = only.ring;
  if (!only.congestion.empty()) job.settings.congestion = only.congestion;
  if (only.transport != Transport::automatic) job.streams.transport = only.transport;
  if (!only.streams_as_told) {
    job.streams.encrypt = only.encrypt;
    job.streams.connect = Connect::listen;
    job.streams.via = only.via;
  }
  return job;
}

}  // namespace rdcp::tree
