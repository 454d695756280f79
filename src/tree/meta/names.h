// Looks users and groups up by name and by number, each one once.
#pragma once

#include <grp.h>
#include <pwd.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "io/result.h"

namespace rdcp::tree {

// The look-up functions of getpwnam_r(3) and getgrnam_r(3). Tests replace them.
struct AccountLookUps {
  decltype(&::getpwuid_r) user_of_number = ::getpwuid_r;
  decltype(&::getpwnam_r) user_of_name = ::getpwnam_r;
  decltype(&::getgrgid_r) group_of_number = ::getgrgid_r;
  decltype(&::getgrnam_r) group_of_name = ::getgrnam_r;
};

// Thread-safe. Remembers hits and misses, at most kRemembered of each kind.
class NameTable {
 public:
  // failed is called when a look-up brings no answer (a directory service is away), which does not mean "no
  // such user". The caller of the look-up goes on with the number, as if there were no such name.
  explicit NameTable(std::function<void(const io::Error&)> failed = {}, const AccountLookUps& look_ups = {})
      : failed_(std::move(failed)), look_ups_(look_ups) {}

  std::string user_name(std::uint32_t uid);   // empty if unknown
  std::string group_name(std::uint32_t gid);  // empty if unknown
  std::optional<std::uint32_t> user_id(const std::string& name);
  std::optional<std::uint32_t> group_id(const std::string& name);

 private:
  static constexpr std::size_t kRemembered = 4096;
  void tell(const std::string& subject, int error) const;

  const std::function<void(const io::Error&)> failed_;
  const AccountLookUps look_ups_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> user_names_, group_names_;
  std::unordered_map<std::string, std::optional<std::uint32_t>> user_ids_, group_ids_;
};

}  // namespace rdcp::tree
