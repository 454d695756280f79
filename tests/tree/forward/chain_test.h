// What tests of chains have in common: a tree of files to copy, and places for its copies.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "tests/tree/forward/chain_fixture.h"

namespace rdcp::tree {

struct ChainTest : testing::Test {
  ScratchDirectory scratch;
  Heard heard;

  // Makes from/ with small files, large ones, links and directories.
  void make_tree() {
    std::filesystem::create_directories(scratch / "from/deep/er");
    for (int i = 0; i < 300; ++i) {
      write_file(scratch / ("from/deep/s" + std::to_string(i)), test_bytes(200 + i * 7, i));
    }
    for (int i = 0; i < 5; ++i) {
      write_file(scratch / ("from/deep/er/large" + std::to_string(i)),
                 test_bytes(300'000 + i * 4097, 900 + i));
    }
    write_file(scratch / "from/empty", "");
    std::filesystem::create_symlink("deep/s1", scratch / "from/symlink");
    std::filesystem::create_hard_link(scratch / "from/deep/er/large1", scratch / "from/linked");
  }

  ChainCase chain_of(std::size_t targets) {
    ChainCase chain;
    chain.sources = {scratch / "from/"};
    for (std::size_t i = 0; i < targets; ++i) {
      const std::string host = "host" + std::to_string(i + 1);
      std::filesystem::create_directories(scratch / host);
      chain.destinations.push_back(scratch / (host + "/to"));
    }
    return chain;
  }

  // Every path beneath, with its type, content and time.
  static std::string listing(const std::string& root) {
    std::set<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      struct stat status {};
      EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0);
      std::string line =
          std::filesystem::relative(entry.path(), root).string() + " " + std::to_string(status.st_mode);
      if (S_ISLNK(status.st_mode)) line += " -> " + std::filesystem::read_symlink(entry.path()).string();
      if (S_ISREG(status.st_mode)) {
        line += " " + std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_nlink) + " " +
                std::to_string(std::hash<std::string>()(content_of(entry.path())));
      }
      lines.insert(line);
    }
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  }

  void expect_all_equal(const ChainCase& chain) {
    const std::string wanted = listing(scratch / "from");
    for (const std::string& destination : chain.destinations) EXPECT_EQ(listing(destination), wanted);
  }
};

}  // namespace rdcp::tree
