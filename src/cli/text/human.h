// Formats numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace rdcp::cli {

// A power of 1000 and its name.
struct Unit {
  double bytes = 1;
  const char* name = "B";
};
// Returns the largest unit up to PB that is not larger than the value; values below 1 kB are in bytes.
Unit unit_for(double bytes);

std::string format_bytes(std::uint64_t bytes);     // "0 B", "999 B", "2.15 GB"
std::string format_rate(double bytes_per_second);  // "3.21 GB/s"
std::string format_count(std::uint64_t count);     // "1,234,567"
std::string format_clock(double seconds);          // "0:07", "12:34", "1:02:03", at most "99:59:59"
// Returns the time as RFC 3339 has it, in UTC, to the millisecond: "2026-01-02T03:04:05.678Z".
std::string utc_now();
std::string plural(std::uint64_t count, const char* singular, const char* plural);  // "1 file", "1,234 files"

}  // namespace rdcp::cli
