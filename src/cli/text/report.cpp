#include "cli/text/report.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/text/human.h"

namespace rdcp::cli {
namespace {

std::string counts_line(const Summary& summary) {
  std::string line = summary.program + (summary.is_complete ? ": copied " : ": not all copied of ");
  line += plural(summary.files, "file", "files");
  if (summary.directories > 0) line += ", " + plural(summary.directories, "directory", "directories");
  if (summary.others > 0) line += ", " + plural(summary.others, "other entry", "other entries");
  return line + fmt::format(", {} in {:.3f} s\n", format_bytes(summary.bytes), summary.seconds);
}

std::string means_line(const Summary& summary) {
  if (summary.streams == 0) return {};
  const std::string begin = summary.program + ": ";
  std::string lines = begin + plural(summary.streams, "stream", "streams");
  // The entry is empty for the number of a replacement stream that was never made.
  const bool alike = std::ranges::all_of(
      summary.ways, [&](const std::string& way) { return way.empty() || way == summary.ways.front(); });
  if (alike && !summary.ways.empty()) lines += " over " + io::visible(summary.ways.front());
  lines += "; files by " + io::visible(summary.ring) + "\n";
  for (std::size_t i = 0; i < summary.ways.size() && !alike; ++i) {
    if (!summary.ways[i].empty())
      lines += fmt::format("{}stream {} over {}\n", begin, i, io::visible(summary.ways[i]));
  }
  for (const std::string& note : summary.notes) lines += begin + io::visible(note) + "\n";
  return lines;
}

// Returns the ratio of the payloads; frames, handshakes and what TCP adds are not counted.
double ratio_of(const Summary& summary) {
  const auto raw = static_cast<double>(std::max<std::uint64_t>(summary.payload_bytes, 1));
  return raw / static_cast<double>(std::max<std::uint64_t>(summary.packed_bytes, 1));
}

// Returns the bytes per second of the content that was sent.
double rate_of(const Summary& summary) {
  if (summary.seconds <= 0 || summary.bytes <= summary.kept_bytes) return 0;
  return static_cast<double>(summary.bytes - summary.kept_bytes) / summary.seconds;
}

std::string wrapping_lines(const Summary& summary) {
  std::string lines;
  if (summary.encrypted) lines += summary.program + ": encrypted\n";
  if (!summary.compress) return lines;
  lines +=
      fmt::format("{}: compressed {} to {} ({:.2f} : 1)\n", summary.program,
                  format_bytes(summary.payload_bytes), format_bytes(summary.packed_bytes), ratio_of(summary));
  return lines;
}

std::string where(const std::vector<std::string>& hosts) {
  if (hosts.empty()) return {};
  if (hosts.size() == 1) return " on " + hosts.front();
  return fmt::format(" on {} hosts, {} the first of them", hosts.size(), hosts.front());
}

}  // namespace

std::string error_line(const io::Error& error, std::string_view program) {
  return std::string(program) + ": " + error.message() + "\n";
}

std::string cause_of_end(int signal) {
  if (signal == SIGALRM) return "the time of --max-runtime is over";
  return std::string("ended by SIG") + ::sigabbrev_np(signal);
}

std::string warning_lines(const Summary& summary) {
  std::string lines;
  for (const std::string& warning : summary.warnings) {
    lines += fmt::format("{}: warning: {}\n", summary.program, io::visible(warning));
  }
  for (const Loss& loss : summary.losses) {
    if (loss.count == 0) continue;
    lines += fmt::format("{}: warning: not kept: {} ({}{}; first {}: {})\n", summary.program, loss.kind,
                         plural(loss.count, "entry", "entries"), where(loss.hosts),
                         io::printable(loss.first_path), io::visible(loss.cause));
  }
  return lines;
}

nlohmann::ordered_json summary_json(const Summary& summary) {
  using nlohmann::ordered_json;
  ordered_json json = {
      {"files", summary.files},           {"directories", summary.directories},
      {"others", summary.others},         {"bytes", summary.bytes},
      {"seconds", summary.seconds},       {"kept_bytes", summary.kept_bytes},
      {"sent_bytes", summary.wire_bytes}, {"resent_chunks", summary.retried_chunks},
      {"streams", summary.ways},          {"encrypted", summary.encrypted || summary.carrier_encrypts},
      {"compressed", summary.compress}};
  if (summary.compress) {
    json["raw_bytes"] = summary.payload_bytes;
    json["packed_bytes"] = summary.packed_bytes;
    json["ratio"] = ratio_of(summary);
  }
  json["limited_by"] = summary.limited_by;
  json["warnings"] = summary.warnings;
  json["not_kept"] = ordered_json::array();
  for (const Loss& loss : summary.losses) {
    if (loss.count == 0) continue;
    json["not_kept"].push_back({{"what", loss.kind},
                                {"entries", loss.count},
                                {"first_path", loss.first_path},
                                {"cause", loss.cause}});
    if (!loss.hosts.empty()) json["not_kept"].back()["hosts"] = loss.hosts;
  }
  return json;
}

std::string summary_lines(const Summary& summary) {
  std::string lines = counts_line(summary) + means_line(summary) + wrapping_lines(summary);
  if (summary.retried_chunks > 0) {
    lines += fmt::format("{}: {} sent again after a wrong digest\n", summary.program,
                         plural(summary.retried_chunks, "chunk", "chunks"));
  }
  if (summary.kept_bytes > 0) {
    lines +=
        fmt::format("{}: {} were there already; {} ({} bytes) were sent\n", summary.program,
                    format_bytes(summary.kept_bytes), format_bytes(summary.wire_bytes), summary.wire_bytes);
  }
  if (!summary.limited_by.empty())
    lines += fmt::format("{}: limited by {}\n", summary.program, io::visible(summary.limited_by));
  return lines + fmt::format("Bandwidth {:.3f} GB/s\n", rate_of(summary) / 1e9);
}

std::string summary_line(const Summary& summary) {
  std::string line = fmt::format("{}: {}, {} in {}", summary.program, plural(summary.files, "file", "files"),
                                 format_bytes(summary.bytes), format_clock(summary.seconds));
  if (!summary.is_complete) line += ", not all copied";
  if (summary.kept_bytes > 0)
    line += fmt::format(", {} were there already", format_bytes(summary.kept_bytes));
  return line + ", " + format_rate(rate_of(summary)) + "\n";
}

}  // namespace rdcp::cli
