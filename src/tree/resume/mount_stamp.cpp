#include "tree/resume/mount_stamp.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <span>

#include "io/digest.h"

namespace rdcp::tree {
namespace {

constexpr unsigned kMountIdUnique = 0x4000;  // STATX_MNT_ID_UNIQUE, which glibc 2.36 does not know

// Returns "KIND NUMBER", because the two kinds of ids count separately, or an empty string if the kernel
// gives no id.
std::string mount_id(int fd) {
  for (const unsigned kind : {kMountIdUnique, STATX_MNT_ID}) {
    struct statx found {};
    if (::statx(fd, "", AT_EMPTY_PATH, kind, &found) == 0 && (found.stx_mask & kind) != 0) {
      return std::to_string(kind) + " " + std::to_string(found.stx_mnt_id);
    }
  }
  return {};
}

}  // namespace

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::optional<std::uint64_t> mount_stamp(int fd) {
  static const std::string boot = boot_id();
  return mount_stamp(fd, boot);
}

std::optional<std::uint64_t> mount_stamp(int fd, const std::string& boot_id) {
  const std::string mount = mount_id(fd);
  if (boot_id.empty() || mount.empty()) return std::nullopt;
  const std::string both = boot_id + " " + mount;
  return io::check_of(std::as_bytes(std::span(both)));
}

}  // namespace rdcp::tree
