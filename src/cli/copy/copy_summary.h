// Sums up a copy that both agents have ended.
#pragma once

#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "cli/layout/data_path.h"
#include "cli/text/report.h"

namespace rdcp::cli {

// Holds what a target has said at its end. host: its name, where there are several.
struct EndedTarget {
  std::string host;
  const tree::Done& done;
};

// Tells of each target what it could not keep and what it warns of. The rates and the rings are those of the
// first. seconds: since the begin.
Summary summary_of(const CopyRequest& request, const tree::Done& source,
                   const std::vector<EndedTarget>& targets, const DataPath& path, double seconds);

// The same of sides that are all done.
Summary summary_of(const CopyRequest& request, CopySides& sides, const DataPath& path, double seconds);

// Says of each stream that `carrier` (ssh, or what stands in for it) carries it: the agents know only of the
// sockets that lead to it.
void name_carrier(Summary& summary, const std::string& carrier);

}  // namespace rdcp::cli
