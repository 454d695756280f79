// Users and groups by name and by number, looked up once each.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace rdcp::tree {

// Thread-safe. getpwuid_r(3) and its sisters; both hits and misses are remembered, at most kRemembered of
// each kind.
class NameTable {
 public:
  std::string user_name(std::uint32_t uid);   // empty: unknown
  std::string group_name(std::uint32_t gid);  // empty: unknown
  std::optional<std::uint32_t> user_id(const std::string& name);
  std::optional<std::uint32_t> group_id(const std::string& name);

 private:
  static constexpr std::size_t kRemembered = 4096;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> user_names_, group_names_;
  std::unordered_map<std::string, std::optional<std::uint32_t>> user_ids_, group_ids_;
};

}  // namespace rdcp::tree
