// Formats the report of `rdcp --doctor`.
#pragma once

#include <string>
#include <vector>

#include "cli/inspect/measure_paths.h"
#include "tree/doctor/host_facts.h"
#include "tree/messages/finding.h"

namespace rdcp::cli {

struct HostReport {
  std::string name;
  std::vector<tree::Finding> findings;
  std::string outcome = {};  // what follows for copies, in one sentence; may be empty
};

// Turns what was measured on the path to a host into findings. Lack of RDMA is not counted as a problem here.
// The outcome says which path a copy would take, and what it gave.
HostReport path_report(const std::string& host, const std::vector<MeasuredPath>& paths);

// Returns the outcome where no path was measured: what a host with these facts has for copies.
std::string outcome_of_facts(const tree::HostFacts& facts);

bool has_problem(const std::vector<HostReport>& hosts);

// Formats the report for people: each host's name, beneath it a line for each finding, in columns, with its
// advice on the next line; then the counts, and last the outcomes, each on a line. Bytes that could move a
// terminal's cursor are escaped.
std::string report_text(const std::vector<HostReport>& hosts);

// Formats the report for programs: {"version", "problems", "warnings", "hosts": [{"name", "findings":
// [{"level", "subject", "text", "advice"}], "outcome"?}], "transfers": [{"host", "transport", "failure" |
// "bytes", "seconds", "chunk_bytes", "tos"?, "streams", "notes"?}]}. Bytes that are not UTF-8 become U+FFFD.
std::string report_json(const std::vector<HostReport>& hosts, const std::vector<MeasuredPath>& paths);

}  // namespace rdcp::cli
