// What `rdcp --doctor` prints.
#pragma once

#include <string>
#include <vector>

#include "tree/finding.h"

namespace rdcp::cli {

struct HostReport {
  std::string name;
  std::vector<tree::Finding> findings;
};

bool has_problem(const std::vector<HostReport>& hosts);

// For people: each host's name, beneath it a line for each finding, in columns, with its advice on the next
// one; the counts at last. Bytes that could move a terminal's cursor are escaped.
std::string report_text(const std::vector<HostReport>& hosts);

// {"version", "problems", "warnings", "hosts": [{"name", "findings": [{"level", "subject", "text",
// "advice"}]}]}; bytes that are no UTF-8 become U+FFFD.
std::string report_json(const std::vector<HostReport>& hosts);

}  // namespace rdcp::cli
