// Every message of the control channel, in the order of MessageType.
#pragma once

#include <tuple>

#include "tree/messages/alterations.h"
#include "tree/messages/chain.h"
#include "tree/messages/changes.h"
#include "tree/messages/check_job.h"
#include "tree/messages/clean_job.h"
#include "tree/messages/find_paths.h"
#include "tree/messages/finding.h"
#include "tree/messages/hello.h"
#include "tree/messages/job.h"
#include "tree/messages/knock.h"
#include "tree/messages/measure_job.h"
#include "tree/messages/message.h"
#include "tree/messages/paths_named.h"
#include "tree/messages/rejoin.h"
#include "tree/messages/segment_job.h"
#include "tree/messages/source_wishes.h"
#include "tree/messages/sum_line.h"
#include "tree/messages/target_wishes.h"

namespace rdcp::tree {

using AllMessages =
    std::tuple<Hello, Ping, Pong, SourceJob, TargetJob, SourceReady, TargetReady, Begin, Progress, Problem,
               Done, Beat, Suspend, Abort, Finish, MeasureJob, MeasureReady, Measured, Examine, Findings,
               SegmentJob, SegmentEnd, RelayedBytes, PathsNamed, Changes, CleanJob, Leftovers, Sums, ListJob,
               ListMore, Listed, SumAsk, SumTold, StreamLost, Knock, Knocked, Stay, Ack, Rejoin, Unlisted,
               TargetWishes, Alterations, FindPaths, PathsFound, SourceWishes, ExplainProblems,
               ExplainedProblem, JoinChain, PassOn, NextLost, KeepLedger, Ledger, BranchLost, TellPace, Pace,
               PathTold, EndWhenDone, MarkPackets, LeavePlacement, PairOffered, PairAnswered, GrowStreams,
               UseStreams, ProveEarly>;
static_assert(std::tuple_size_v<AllMessages> == static_cast<std::size_t>(last_of(MessageType{})),
              "a message is missing here");

}  // namespace rdcp::tree
