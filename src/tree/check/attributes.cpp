#include "tree/check/attributes.h"

#include <algorithm>
#include <span>
#include <string>

#include "io/digest.h"
#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

// Returns a digest of what read_xattrs() found, sorted; zeros if there is nothing.
io::Digest digest_of(Entry& entry) {
  if (entry.xattrs.empty() && entry.access_acl.empty() && entry.default_acl.empty()) return {};
  std::sort(entry.xattrs.begin(), entry.xattrs.end(),
            [](const Xattr& a, const Xattr& b) { return a.name < b.name; });
  Encoder encoder;
  encoder.put(static_cast<std::uint32_t>(entry.xattrs.size()));
  for (const Xattr& xattr : entry.xattrs) {
    encoder.put(xattr.name);
    encoder.put(xattr.value);
  }
  for (const auto* acl : {&entry.access_acl, &entry.default_acl}) {
    encoder.put(static_cast<std::uint32_t>(acl->size()));
    for (const AclLine& line : *acl) {
      encoder.put(line.tag);
      encoder.put(line.permissions);
      encoder.put(line.name.empty() ? std::to_string(line.id) : line.name);
    }
  }
  const std::string bytes = encoder.take();
  return io::digest_of(std::as_bytes(std::span(bytes)));
}

}  // namespace

MetadataPolicy policy_of(const ListJob& job) {
  return {.owner = true, .xattrs = job.attributes, .numeric_ids = job.numeric_ids || !job.attributes};
}

io::Result<std::array<std::byte, 16>> attributes_of(int fd, bool is_path_fd, const MetadataPolicy& policy,
                                                    NameTable& names) {
  Entry found;
  const auto read = read_xattrs(fd, is_path_fd, policy, names, found);
  if (!read) return read.error();
  return digest_of(found).bytes;
}

}  // namespace rdcp::tree
