#include "cli/text/human.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace rdcp::cli {

Unit unit_for(double bytes) {
  constexpr std::array<Unit, 5> kUnits{{{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  const auto unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return bytes >= u.bytes; });
  return unit == kUnits.end() ? Unit{} : *unit;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const Unit unit = unit_for(static_cast<double>(bytes));
  return fmt::format("{:.2f} {}", static_cast<double>(bytes) / unit.bytes, unit.name);
}

std::string format_rate(double bytes_per_second) {
  const Unit unit = unit_for(bytes_per_second);
  return fmt::format("{:.{}f} {}/s", bytes_per_second / unit.bytes, unit.bytes > 1 ? 2 : 0, unit.name);
}

std::string format_count(std::uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (std::size_t left = digits.size(); left > 3;) {
    left -= 3;
    digits.insert(left, 1, ',');
  }
  return digits;
}

std::string format_clock(double seconds) {
  constexpr double kMost = 100.0 * 3600 - 1;
  const auto whole = static_cast<unsigned>(std::clamp(seconds, 0.0, kMost));
  const unsigned hours = whole / 3600;
  const unsigned minutes = whole / 60 % 60;
  if (hours == 0) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
}

std::string plural(std::uint64_t count, const char* singular, const char* plural) {
  return format_count(count) + " " + (count == 1 ? singular : plural);
}

std::string utc_now() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::chrono::sys_seconds seconds = std::chrono::floor<std::chrono::seconds>(now);
  const std::time_t whole = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text.data(), (now - seconds).count());
}

}  // namespace rdcp::cli
