// Writes the orders that the coordinator of a copy gives to its agents.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/agents/round_trip.h"
#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "cli/copy/meeting.h"
#include "cli/layout/data_path.h"
#include "io/result.h"
#include "tree/messages/find_paths.h"
#include "tree/messages/job.h"
#include "tree/select/destination_mapping.h"

namespace rdcp::cli {

// Returns the error (unreachable) of an agent that speaks a protocol that is too old for an option.
io::Error too_old_error(const AgentSession& agent, std::string_view option, std::uint32_t needed);
struct CopyJobs {
  tree::SourceJob source;
  tree::TargetJob target;
};
// True if both agents see the same files.
bool same_kernel(const SourceSide& source, const TargetSide& target);
// Returns where SRC lands at a target. Both are ready. Errors: it cannot.
io::Result<tree::DestinationMapping> land(const CopyRequest& request, const SourceSide& source,
                                          const TargetSide& target);

// Tells an agent what only some versions know. Error (unreachable): its version is an older one. option: what
// the user has asked for.
template <class Message>
io::Result<void> tell_if_known(AgentSession& agent, const Message& message, std::string_view option) {
  if (agent.hello()->protocol >= Message::kFirstProtocol) return agent.tell(message), io::Result<void>();
  return too_old_error(agent, option, Message::kFirstProtocol);
}

// True if either side may connect, or the data may go through ssh.
bool goes_either_way(const CopyRequest& request);
CopyJobs jobs_of(const CopyRequest& request, EarlierRun earlier);

// Returns what the target is asked for besides its job. A directory is made only if a source can be copied,
// so the source is to be ready before.
tree::TargetWishes wishes_of(const CopyRequest& request, const SourceSide& source);
// Tells the target, before its job. Error (unreachable): its version does not know such wishes.
io::Result<void> tell_wishes(AgentSession& target, const tree::TargetWishes& wishes);

// The same for the source.
io::Result<void> tell_wishes(AgentSession& source, const tree::SourceWishes& wishes);
// Puts the paths that the source has found in the place of the words that stand for them. Error (protocol):
// none of the words stands for a path that it names; (usage): there are several where one is meant. host: the
// source's, for the message.
io::Result<void> take_found(const tree::PathsFound& answer, const std::string& host, CopyRequest& request);

// Tells an agent how the copy is to differ from its source. Error (unreachable): it is too old to know of it.
io::Result<void> tell_alterations(AgentSession& session, const tree::Alteration& alteration);
// Leaves only those addresses that -4 or -6 allows.
void keep_family(const CopyRequest& request, tree::Reach& reach);

// True if what was copied in part cannot be copied again, once all sides are ready: standard input or a FIFO
// is read, or written by a target.
bool goes_once(const CopyRequest& request, const CopySides& sides);
// True if streams over connections that a knock has opened may be proven early: they may be sealed, and one
// that comes to a stranger can be made again.
bool may_prove_early(const CopyRequest& request, const CopySides& sides);

// Tells the source the paths of --files-from, as many in each message as it may have.
void tell_names(AgentSession& source, std::string_view named_paths);

// Returns how many arenas a target locks for RDMA: one, and where it passes on for each next one the slots
// from which a device sends.
unsigned arenas_of_targets(const CopyRequest& request);

struct CopyBegins {
  tree::Begin source;
  tree::Begin target;
  DataPath path;
  unsigned streams_through_ssh = 1;  // if ssh carries the data
};
// Says how the streams over TCP come about. The begins say so from now on.
void apply(const Meeting& meeting, CopyBegins& begins);
// Returns the begin of a copy between two sides that have said hello and are ready, or nothing if no source
// can be copied, which the source has reported. Errors: the source's answer makes no sense, SRC cannot land
// on DST, there is no data path.
io::Result<std::optional<CopyBegins>> begins_of(const CopyRequest& request, const SourceSide& source,
                                                const TargetSide& target, const RoundTrip& round_trip);

}  // namespace rdcp::cli
