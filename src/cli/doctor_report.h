// What `rdcp --doctor` prints.
#pragma once

#include <string>
#include <vector>

#include "cli/measure_paths.h"
#include "tree/finding.h"

namespace rdcp::cli {

struct HostReport {
  std::string name;
  std::vector<tree::Finding> findings;
};

// What was measured on the way to a host, as findings. That there is no RDMA is none of its problems.
HostReport path_report(const std::string& host, const std::vector<MeasuredPath>& paths);

bool has_problem(const std::vector<HostReport>& hosts);

// For people: each host's name, beneath it a line for each finding, in columns, with its advice on the next
// one; the counts at last. Bytes that could move a terminal's cursor are escaped.
std::string report_text(const std::vector<HostReport>& hosts);

// {"version", "problems", "warnings", "hosts": [{"name", "findings": [{"level", "subject", "text",
// "advice"}]}], "transfers": [{"transport", "failure" | "bytes", "seconds", "chunk_bytes", "streams"}]};
// bytes that are no UTF-8 become U+FFFD.
std::string report_json(const std::vector<HostReport>& hosts, const std::vector<MeasuredPath>& paths);

}  // namespace rdcp::cli
