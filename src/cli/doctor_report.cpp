#include "cli/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/human.h"
#include "cli/version.h"
#include "io/result.h"

namespace rdcp::cli {
namespace {

using tree::Finding;
using tree::Level;

// What is neither ok nor a warning is a problem, also a number that only a peer knows.
Level level_of(const Finding& finding) {
  const bool known = finding.level == Level::ok || finding.level == Level::warning;
  return known ? finding.level : Level::problem;
}

unsigned count_of(const std::vector<HostReport>& hosts, Level level) {
  unsigned count = 0;
  for (const HostReport& host : hosts) {
    count += static_cast<unsigned>(std::ranges::count(host.findings, level, level_of));
  }
  return count;
}

std::size_t subject_width(const std::vector<HostReport>& hosts) {
  std::size_t width = 0;
  for (const HostReport& host : hosts) {
    for (const Finding& finding : host.findings) {
      width = std::max(width, io::printable(finding.subject).size());
    }
  }
  return width;
}

std::string finding_lines(const Finding& finding, std::size_t width) {
  constexpr std::size_t kBefore = 2 + 7 + 2;  // indentation, "problem", gap
  std::string lines = fmt::format("  {:7}  {:{}}  {}\n", describe(level_of(finding)),
                                  io::printable(finding.subject), width, io::printable(finding.text));
  if (!finding.advice.empty()) {
    lines += fmt::format("{:{}}-> {}\n", "", kBefore + width + 2, io::printable(finding.advice));
  }
  return lines;
}

}  // namespace

bool has_problem(const std::vector<HostReport>& hosts) {
  return count_of(hosts, Level::problem) > 0;
}

std::string report_text(const std::vector<HostReport>& hosts) {
  const std::size_t width = subject_width(hosts);
  std::string text;
  for (const HostReport& host : hosts) {
    text += io::printable(host.name) + "\n";
    for (const Finding& finding : host.findings) text += finding_lines(finding, width);
  }
  return text + plural(count_of(hosts, Level::problem), "problem", "problems") + ", " +
         plural(count_of(hosts, Level::warning), "warning", "warnings") + "\n";
}

std::string report_json(const std::vector<HostReport>& hosts) {
  using nlohmann::ordered_json;
  ordered_json root = {{"version", kVersion},
                       {"problems", count_of(hosts, Level::problem)},
                       {"warnings", count_of(hosts, Level::warning)},
                       {"hosts", ordered_json::array()}};
  for (const HostReport& host : hosts) {
    ordered_json findings = ordered_json::array();
    for (const Finding& finding : host.findings) {
      findings.push_back({{"level", describe(level_of(finding))},
                          {"subject", finding.subject},
                          {"text", finding.text},
                          {"advice", finding.advice}});
    }
    root["hosts"].push_back({{"name", host.name}, {"findings", std::move(findings)}});
  }
  constexpr int kIndent = 2;
  return root.dump(kIndent, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rdcp::cli
