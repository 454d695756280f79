#include "tree/doctor/host_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/arena.h"
#include "io/locked_memory.h"
#include "io/ring.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

int number_in(const fs::path& file, int otherwise) {
  std::ifstream stream(file);
  int number = 0;
  return stream >> number ? number : otherwise;
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  auto each = fs::directory_iterator(directory, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) entries.push_back(each->path());
  return entries;
}

// True for PCI's class of InfiniBand controllers, and for network controllers of the vendor whose Ethernet
// adapters all support RoCE.
bool is_rdma_adapter(const fs::path& device) {
  const std::string kind = first_line(device / "class");
  return kind.starts_with("0x0207") ||
         (kind.starts_with("0x0200") && first_line(device / "vendor") == "0x15b3");
}

std::vector<std::string> idle_adapters() {
  std::vector<std::string> idle;
  for (const fs::path& device : entries_of("/sys/bus/pci/devices")) {
    std::error_code error;
    const bool served = fs::exists(device / "infiniband", error);
    if (is_rdma_adapter(device) && !served) idle.push_back(device.filename());
  }
  return idle;
}

// Tries a ring as a worker would use it, with a small arena.
void try_ring(HostFacts& facts) {
  constexpr unsigned kDepth = 16;
  const auto ring = io::make_ring(io::RingChoice::io_uring, kDepth);
  if (!ring) {
    facts.uring_refusal = ring.error().message();
    return;
  }
  const auto arena = io::Arena::create(4, 1 << 20);
  if (!arena) return;
  const std::string plain = (*ring)->description();
  (*ring)->register_arena(arena->all());
  // The text is then "io_uring, arena not registered: CAUSE".
  const std::string after = (*ring)->description();
  if (after != plain) facts.buffers_refusal = after.substr(after.rfind(": ") + 2);
}

// Returns the word in brackets of "always [madvise] never".
std::string huge_pages() {
  const std::string line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  return begin < end && end != line.npos ? line.substr(begin + 1, end - begin - 1) : "";
}

// Returns the NUMA node of a block device, or of the first one that it is made of (device mapper, md).
int numa_node_of_block_device(const std::string& name) {
  constexpr int kLayersMax = 8;
  std::error_code error;
  fs::path device = fs::canonical("/sys/class/block/" + name, error);
  for (int layer = 0; layer < kLayersMax && !error; ++layer) {
    const auto beneath = entries_of(device / "slaves");
    if (beneath.empty()) break;
    device = fs::canonical(beneath.front(), error);
  }
  // A partition or a namespace has no node of its own, but the adapter above it has.
  for (; !error && device != device.root_path(); device = device.parent_path()) {
    if (const int node = number_in(device / "numa_node", -1); node >= 0) return node;
  }
  return -1;
}

// Returns "TYPE SOURCE" of the mount, which follows the dash in its line of /proc/self/mountinfo (proc(5)).
// The line begins with the mount's id.
std::string mount_of(const struct statx& status) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos || !line.starts_with(std::to_string(status.stx_mnt_id) + " ")) continue;
    return line.substr(dash + 3);
  }
  return {};
}

// Returns the name of the filesystem by its magic number (statfs(2)): in a chroot(2) whose root is not a
// mount point, mountinfo does not have the mount. Empty if the number is not among these.
std::string filesystem_by_magic(const char* path) {
  struct statfs status {};
  if (::statfs(path, &status) != 0) return {};
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case TMPFS_MAGIC:
      return "tmpfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlay";
    case NFS_SUPER_MAGIC:
      return "nfs";
    case FUSE_SUPER_MAGIC:
      return "fuse";
    default:
      return {};
  }
}

// Returns the name of the block device. If no device has the number, as with btrfs, the mount's source tells.
std::string block_device(const struct statx& status, const std::string& source) {
  const auto number = fmt::format("/sys/dev/block/{}:{}", status.stx_dev_major, status.stx_dev_minor);
  std::error_code error;
  fs::path device = fs::canonical(number, error);
  if (error) device = fs::canonical(source, error);
  const bool known = !error && fs::exists("/sys/class/block" / device.filename(), error);
  return known ? device.filename().string() : "";
}

DiskFacts disk_of(const char* path) {
  DiskFacts disk;
  struct statx status {};
  if (::statx(AT_FDCWD, path, 0, STATX_MNT_ID, &status) != 0) return disk;
  std::string source;
  std::istringstream(mount_of(status)) >> disk.filesystem >> source;
  if (disk.filesystem.empty()) disk.filesystem = filesystem_by_magic(path);
  disk.device = block_device(status, source);
  if (!disk.device.empty()) disk.numa_node = numa_node_of_block_device(disk.device);
  return disk;
}

}  // namespace

HostFacts host_facts() {
  HostFacts facts;
  facts.rdma = net::rdma_facts();
  facts.ports = net::usable_ports(facts.rdma);
  facts.adapters = adapter_facts(facts.rdma);
  facts.shared_subnets = shared_subnets(facts.rdma);
  facts.idle_adapters = idle_adapters();
  facts.lockable_bytes = io::lockable_bytes();
  try_ring(facts);
  facts.uring_disabled = number_in("/proc/sys/kernel/io_uring_disabled", 0);
  facts.huge_pages = huge_pages();
  facts.numa_nodes = io::numa_nodes();
  facts.allowed_cpus = io::allowed_cpus();
  facts.disk = disk_of(".");
  facts.landlock = landlock_support();
  return facts;
}

}  // namespace rdcp::tree
