// The directories of --link-dest: earlier copies, of which unchanged files are linked.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"

namespace rdcp::tree {

// Opened before the agent hears its peer, and shared by all workers; only the mutex changes after that.
struct LinkDirectories {
  struct Opened {
    io::Fd fd;  // O_RDONLY | O_DIRECTORY
    std::string name;
  };
  std::vector<Opened> opened;
  std::vector<std::string> missing;  // why they could not be opened, for warnings
  std::size_t strips = 0;            // bytes of an Entry::path that stand for DST
  std::mutex linking;                // one link at a time, because each gives its directory its times back

  // Opens `wanted`. Relative ones are relative to DST, whose path is `destination`. If it is not there yet
  // (is_directory is false) the directory that DST is to be in is where its ".." leads.
  void open(const std::vector<std::string>& wanted, const std::string& destination, bool is_directory);
};

// Returns the path of such a directory as this process can open it.
std::string path_of_link_directory(std::string_view wanted, const std::string& destination,
                                   bool is_directory);

}  // namespace rdcp::tree
