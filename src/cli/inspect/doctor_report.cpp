#include "cli/inspect/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/options/shared_options.h"
#include "cli/text/human.h"
#include "cli/text/json_text.h"
#include "cli/text/version.h"
#include "io/result.h"
#include "tree/doctor/examine.h"

namespace rdcp::cli {
namespace {

using tree::Finding;
using tree::Level;

// Returns the level of a finding. A level that only the peer knows counts as a problem.
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
      width = std::max(width, io::visible(finding.subject).size());
    }
  }
  return width;
}

std::string finding_lines(const Finding& finding, std::size_t width) {
  constexpr std::size_t kBefore = 2 + 7 + 2;  // indentation, "problem", gap
  std::string lines = fmt::format("  {:7}  {:{}}  {}\n", describe(level_of(finding)),
                                  io::visible(finding.subject), width, io::visible(finding.text));
  if (!finding.advice.empty()) {
    lines += fmt::format("{:{}}-> {}\n", "", kBefore + width + 2, io::visible(finding.advice));
  }
  return lines;
}

std::string name_of(tree::Transport transport) {
  return transport == tree::Transport::rdma ? "RDMA" : "TCP";
}

std::string rate_of(const MeasuredPath& path) {
  return format_rate(path.seconds > 0 ? static_cast<double>(path.bytes) / path.seconds : 0);
}

Finding finding_of(const MeasuredPath& path) {
  Finding finding{Level::ok, name_of(path.transport), "", ""};
  if (path.failure.empty()) {
    finding.text = rate_of(path) + " from memory to memory, " +
                   plural(path.streams.size(), "stream", "streams") + " of chunks of " +
                   format_bytes(path.chunk_bytes);
    if (path.traffic_class) finding.text += ", " + describe_traffic_class(*path.traffic_class);
    for (const std::string& note : path.notes) finding.text += "; " + note;
    return finding;
  }
  // A host without RDMA says so in its own findings; lack of RDMA is not a fault of the path.
  finding.text = path.failure;
  if (path.transport == tree::Transport::tcp) {
    finding.level = Level::problem;
    finding.advice = "see whether a firewall keeps the two hosts apart";
  } else if (path.reachable) {
    finding.level = Level::problem;
    finding.advice = "copies will go over TCP; look at the devices above, and at the switches between them";
  }
  return finding;
}

// A copy takes the first path that works, as they are measured in that order.
std::string outcome_of_paths(const std::string& host, const std::vector<MeasuredPath>& paths) {
  const auto taken =
      std::ranges::find_if(paths, [](const MeasuredPath& path) { return path.failure.empty(); });
  if (taken != paths.end()) {
    std::string text = "a copy to " + host + " would go over " + name_of(taken->transport) +
                       ", which gives " + rate_of(*taken) + " from memory to memory";
    if (taken->streams.empty()) return text;
    text += ": " + taken->streams.front();
    if (const std::size_t more = taken->streams.size() - 1; more > 0) {
      text += fmt::format(" and {} more", plural(more, "stream", "streams"));
    }
    return text;
  }
  const bool tcp = std::ranges::any_of(
      paths, [](const MeasuredPath& path) { return path.transport == tree::Transport::tcp; });
  if (!tcp) return "no copy to " + host + " is possible over RDMA alone";
  return "a copy to " + host + " would have to be connected from there, or to go through ssh";
}

nlohmann::ordered_json json_of(const MeasuredPath& path) {
  nlohmann::ordered_json json = {{"host", path.host},
                                 {"transport", path.transport == tree::Transport::rdma ? "rdma" : "tcp"}};
  if (!path.failure.empty()) {
    json["failure"] = path.failure;
    return json;
  }
  json["bytes"] = path.bytes;
  json["seconds"] = path.seconds;
  json["chunk_bytes"] = path.chunk_bytes;
  if (path.traffic_class) json["tos"] = *path.traffic_class;
  json["streams"] = path.streams;
  if (!path.notes.empty()) json["notes"] = path.notes;
  return json;
}

}  // namespace

HostReport path_report(const std::string& host, const std::vector<MeasuredPath>& paths) {
  HostReport report{"from this host to " + host, {}};
  for (const MeasuredPath& path : paths) report.findings.push_back(finding_of(path));
  report.outcome = outcome_of_paths(host, paths);
  return report;
}

std::string outcome_of_facts(const tree::HostFacts& facts) {
  if (facts.ports.usable.empty()) return "copies from this host go over TCP: " + facts.ports.none_because;
  if (facts.lockable_bytes < tree::kLockedBytesLeast) {
    return "copies from this host go over TCP: too little memory may be locked for RDMA";
  }
  std::set<std::string> names;
  std::uint64_t megabits = 0;
  for (const net::RdmaPort& port : facts.ports.usable) {
    if (names.insert(port.name()).second) megabits += port.megabits;  // a port may have several addresses
  }
  return fmt::format(
      "copies from this host can go over RDMA by {} ({:g} Gb/s); name the other host to have the path "
      "measured",
      fmt::join(names, ", "), static_cast<double>(megabits) / 1000);
}

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
  text += plural(count_of(hosts, Level::problem), "problem", "problems") + ", " +
          plural(count_of(hosts, Level::warning), "warning", "warnings") + "\n";
  for (const HostReport& host : hosts) {
    if (!host.outcome.empty()) text += io::visible(host.outcome) + "\n";
  }
  return text;
}

std::string report_json(const std::vector<HostReport>& hosts, const std::vector<MeasuredPath>& paths) {
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
    ordered_json told = {{"name", host.name}, {"findings", std::move(findings)}};
    if (!host.outcome.empty()) told["outcome"] = host.outcome;
    root["hosts"].push_back(std::move(told));
  }
  if (!paths.empty()) root["transfers"] = ordered_json::array();
  for (const MeasuredPath& path : paths) root["transfers"].push_back(json_of(path));
  constexpr int kIndent = 2;
  return json_text(root, kIndent);
}

}  // namespace rdcp::cli
