#include "tree/names.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <vector>

namespace rdcp::tree {
namespace {

// Runs one of the _r look-ups of getpwnam_r(3), getgrnam_r(3) with a buffer that grows until the record fits:
// a group with thousands of members needs far more than sysconf(_SC_GETGR_R_SIZE_MAX) says. None: not found,
// or no answer.
template <class Record, class LookUp, class Take>
auto look_up(LookUp call, Take take) -> std::optional<decltype(take(std::declval<const Record&>()))> {
  constexpr std::size_t kBytesMax = 16 << 20;
  for (std::vector<char> buffer(4096); buffer.size() <= kBytesMax;) {
    Record record;
    Record* found = nullptr;
    const int error = call(&record, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return take(record);
    if (error == ERANGE) {
      buffer.resize(buffer.size() * 4);
    } else if (error != EINTR) {
      break;
    }
  }
  return std::nullopt;
}

// What remembered holds for key, or else what look says, which is remembered. A full table starts afresh:
// what is in use comes back soon.
template <class Key, class Value, class Look>
Value remember(std::unordered_map<Key, Value>& remembered, std::size_t max, const Key& key, Look look) {
  if (const auto found = remembered.find(key); found != remembered.end()) return found->second;
  Value value = look();
  if (remembered.size() >= max) remembered.clear();
  remembered.emplace(key, value);
  return value;
}

}  // namespace

std::string NameTable::user_name(std::uint32_t uid) {
  const std::lock_guard lock(mutex_);
  return remember(user_names_, kRemembered, uid, [uid] {
    return look_up<passwd>([uid](auto... rest) { return getpwuid_r(uid, rest...); },
                           [](const passwd& user) { return std::string(user.pw_name); })
        .value_or(std::string());
  });
}

std::string NameTable::group_name(std::uint32_t gid) {
  const std::lock_guard lock(mutex_);
  return remember(group_names_, kRemembered, gid, [gid] {
    return look_up<group>([gid](auto... rest) { return getgrgid_r(gid, rest...); },
                          [](const group& found) { return std::string(found.gr_name); })
        .value_or(std::string());
  });
}

std::optional<std::uint32_t> NameTable::user_id(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return remember(user_ids_, kRemembered, name, [&name] {
    return look_up<passwd>([&name](auto... rest) { return getpwnam_r(name.c_str(), rest...); },
                           [](const passwd& user) { return std::uint32_t{user.pw_uid}; });
  });
}

std::optional<std::uint32_t> NameTable::group_id(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return remember(group_ids_, kRemembered, name, [&name] {
    return look_up<group>([&name](auto... rest) { return getgrnam_r(name.c_str(), rest...); },
                          [](const group& found) { return std::uint32_t{found.gr_gid}; });
  });
}

}  // namespace rdcp::tree
