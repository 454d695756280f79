#include "tree/agent/receive_only_policy.h"

namespace rdcp::tree {

// The job is put together anew, so a stranger cannot ask for anything that is not named here.
TargetJob held_to(const ReceiveOnlyPolicy& only, const TargetJob& asked) {
  const bool automatic_cache = only.cache == io::CacheMode::automatic;
  const bool automatic_ring = only.ring == io::RingChoice::automatic;
  TargetJob job;
  job.path = only.path;
  job.standard_output = only.path.empty();
  job.settings.chunk_bytes = asked.settings.chunk_bytes;
  job.settings.cache = automatic_cache ? asked.settings.cache : only.cache;
  job.settings.ring = automatic_ring ? asked.settings.ring : only.ring;
  job.settings.congestion = only.congestion.empty() ? asked.settings.congestion : only.congestion;
  job.settings.resume = false;
  job.settings.keep_owner = false;
  job.settings.keep_xattrs = false;
  job.streams = asked.streams;
  if (only.transport != Transport::automatic) job.streams.transport = only.transport;
  if (!only.streams_as_told) {
    job.streams.encrypt = only.encrypt;
    job.streams.connect = Connect::listen;
    job.streams.either_way = false;
    job.streams.via = only.via;
  }
  return job;
}

}  // namespace rdcp::tree
