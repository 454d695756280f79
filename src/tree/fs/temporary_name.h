// Temporary names for what gets its final name by a rename.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

namespace rdcp::tree {

// Returns ".NAME.rdcp-XXXXXXXX" with random hexadecimal digits. NAME is cut short if the whole would exceed
// NAME_MAX, but not within a UTF-8 character, which some filesystems refuse. Others can guess such a name, so
// whatever gets it must be created exclusively.
std::string temporary_name(std::string_view name);

// Calls make(name), which returns -1 with errno on failure, with temporary names until one is free. Returns
// the name that was taken, or an empty one with errno.
template <class Make>
std::string take_temporary_name(std::string_view final_name, Make make) {
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = temporary_name(final_name);
    if (make(name.c_str()) >= 0) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

}  // namespace rdcp::tree
