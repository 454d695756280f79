#include "tree/mirror/link_directories.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tree/fs/local_path.h"

namespace rdcp::tree {

std::string path_of_link_directory(std::string_view wanted, const std::string& destination,
                                   bool is_directory) {
  if (wanted.starts_with('/')) return std::string(wanted);
  if (is_directory) return destination + "/" + std::string(wanted);
  while (wanted.starts_with("./")) {
    wanted.remove_prefix(std::min(wanted.find_first_not_of('/', 1), wanted.size()));
  }
  const std::string parent = split_local_path(destination).directory;
  if (wanted == "..") return parent;
  if (wanted.starts_with("../")) return parent + "/" + std::string(wanted.substr(3));
  return destination + "/" + std::string(wanted);
}

void LinkDirectories::open(const std::vector<std::string>& wanted, const std::string& destination,
                           bool is_directory) {
  for (const std::string& word : wanted) {
    std::string path = path_of_link_directory(word, destination, is_directory);
    io::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd) {
      opened.push_back({std::move(fd), std::move(path)});
    } else {
      missing.push_back("nothing is linked to " + path + ": " + std::strerror(errno));
    }
  }
}

}  // namespace rdcp::tree
