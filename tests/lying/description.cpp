#include "tests/lying/description.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <span>

#include "io/digest.h"

namespace rdcp::lying {
namespace {

std::string hexadecimal(const io::Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest.bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

void add(const Disk& disk, Inumber number, const std::string& path, nlohmann::json& all) {
  const Inode& inode = *disk.find(number);
  const Attributes& attributes = inode.now.attributes;
  std::string type = "special";
  std::string content;
  if (S_ISDIR(attributes.mode)) type = "directory";
  if (S_ISLNK(attributes.mode)) {
    type = "symlink";
    content = inode.link_target;
  } else if (S_ISREG(attributes.mode)) {
    type = "file";
    const std::string bytes = inode.now.content.read(0, inode.now.content.size);
    content = hexadecimal(io::digest_of(std::as_bytes(std::span(bytes))));
  }
  const std::int64_t mtime = attributes.mtime.tv_sec * 1'000'000'000L + attributes.mtime.tv_nsec;
  all[path] = {type, attributes.mode & 07777, mtime, inode.now.content.size, inode.links, content};
  for (const auto& [name, child] : inode.now.names)
    add(disk, child, path.empty() ? name : path + "/" + name, all);
}

}  // namespace

std::string description(const Disk& disk) {
  nlohmann::json all = nlohmann::json::object();
  add(disk, kRoot, "", all);
  return all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace rdcp::lying
