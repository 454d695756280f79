#include "tree/meta/names.h"

#include <cerrno>
#include <cstring>
#include <vector>

namespace rdcp::tree {
namespace {

// The errors by which the look-ups may say that there is no such user or group (getpwnam_r(3)).
bool means_not_found(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// Runs one of the look-ups of getpwnam_r(3) and getgrnam_r(3) with a buffer that grows until the record fits,
// because a group with thousands of members needs far more than sysconf(_SC_GETGR_R_SIZE_MAX) says. Returns
// nothing if there is no such record, or no answer; only the latter is told to fail(errno).
template <class Record, class LookUp, class Take, class Fail>
auto look_up(LookUp call, Take take, Fail fail)
    -> std::optional<decltype(take(std::declval<const Record&>()))> {
  constexpr std::size_t kBytesMax = 16 << 20;
  std::vector<char> buffer(4096);
  for (;;) {
    Record record;
    Record* found = nullptr;
    const int error = call(&record, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return take(record);
    if (error == EINTR) continue;
    if (error != ERANGE || buffer.size() > kBytesMax) {
      if (!means_not_found(error)) fail(error);
      return std::nullopt;
    }
    buffer.resize(buffer.size() * 4);
  }
}

// Returns what `remembered` has for the key, or else what look() returns, which it then remembers. A full
// table is cleared: what is in use is soon in it again.
template <class Key, class Value, class Look>
Value remember(std::unordered_map<Key, Value>& remembered, std::size_t max, const Key& key, Look look) {
  if (const auto found = remembered.find(key); found != remembered.end()) return found->second;
  Value value = look();
  if (remembered.size() >= max) remembered.clear();
  remembered.emplace(key, value);
  return value;
}

}  // namespace

void NameTable::tell(const std::string& subject, int error) const {
  if (!failed_) return;
  failed_(io::plain_error(io::ErrorKind::file, "look up", subject,
                          std::string(std::strerror(error)) +
                              "; the number is kept instead, and may belong to somebody else there"));
}

std::string NameTable::user_name(std::uint32_t uid) {
  const std::lock_guard lock(mutex_);
  return remember(user_names_, kRemembered, uid, [&] {
    return look_up<passwd>([&](auto... rest) { return look_ups_.user_of_number(uid, rest...); },
                           [](const passwd& user) { return std::string(user.pw_name); },
                           [&](int error) { tell("user " + std::to_string(uid), error); })
        .value_or(std::string());
  });
}

std::string NameTable::group_name(std::uint32_t gid) {
  const std::lock_guard lock(mutex_);
  return remember(group_names_, kRemembered, gid, [&] {
    return look_up<group>([&](auto... rest) { return look_ups_.group_of_number(gid, rest...); },
                          [](const group& found) { return std::string(found.gr_name); },
                          [&](int error) { tell("group " + std::to_string(gid), error); })
        .value_or(std::string());
  });
}

std::optional<std::uint32_t> NameTable::user_id(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return remember(user_ids_, kRemembered, name, [&] {
    return look_up<passwd>([&](auto... rest) { return look_ups_.user_of_name(name.c_str(), rest...); },
                           [](const passwd& user) { return std::uint32_t{user.pw_uid}; },
                           [&](int error) { tell("user " + name, error); });
  });
}

std::optional<std::uint32_t> NameTable::group_id(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return remember(group_ids_, kRemembered, name, [&] {
    return look_up<group>([&](auto... rest) { return look_ups_.group_of_name(name.c_str(), rest...); },
                          [](const group& found) { return std::uint32_t{found.gr_gid}; },
                          [&](int error) { tell("group " + name, error); });
  });
}

}  // namespace rdcp::tree
