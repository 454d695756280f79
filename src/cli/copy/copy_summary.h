// Sums up a copy that both agents have ended.
#pragma once

#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "cli/copy/data_path.h"
#include "cli/text/report.h"

namespace rdcp::cli {

// seconds: since the begin.
Summary summary_of(const CopyRequest& request, const tree::Done& source, const tree::Done& target,
                   const DataPath& path, double seconds);

}  // namespace rdcp::cli
