// A thread of the walker.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/walk/walker.h"

namespace rdcp::tree {

// getdents64(2)'s record; glibc's struct dirent64 is the same, but readdir(3) would hide the buffer's end.
struct RawEntry {
  ino64_t inode;
  off64_t next;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// One walking thread: its stack of directories and the batch that it is filling.
class Walker::Thread {
 public:
  explicit Thread(Walker& walker) : walker_(walker) {}

  void add_single(const Root& root);
  void walk(DirectoryRef top);
  void flush();
  // Returns false once the run was stopped.
  bool going() const { return !walker_.plan_.stopped(); }

 private:
  struct Level {
    explicit Level(DirectoryRef directory) : directory(std::move(directory)) {}
    DirectoryRef directory;
    io::Fd fd;           // closed while too many are open below
    off_t position = 0;  // where the listing goes on when it is reopened
    bool started = false;
    bool at_end = false;
    std::vector<DirectoryRef> subdirectories;  // found in the buffer just read, still to be walked
    NamedPaths::Range names;                   // named by the user in it, still to be looked at
  };

  bool open_level(Level& level);
  void read_buffer(Level& level);
  bool note_directory(Level& level);
  void list_some(Level& level);
  void name_some(Level& level);
  bool is_named(const Level& level, const char* name) const;
  bool hides(const Item& item) const;  // by its name or its size
  void add_entry(Level& level, const char* name, unsigned char type);
  void add_named(Level& level, NamedPaths::Group group);
  bool look_up(const Root& root, std::size_t named, struct stat& status) const;
  bool leads_to_wanted(const Root& root, const NamedPaths::Range& names) const;
  void tell_missing(const Root& root, const NamedPaths::Range& names);
  void add_found(Level& level, Item item, const DirectoryScope& scope);
  void enter(const DirectoryRef& directory);
  void finish_level(Level& level);
  void add_item(Item item);
  void append(Item item);
  std::string subject(const DirectoryTracker& directory) const {
    return join_path(directory.root().given, directory.local_path());
  }

  Walker& walker_;
  Batch batch_;
  std::uint64_t batch_bytes_ = 0;
  std::uint64_t batch_serial_ = 1;
  std::vector<Level> levels_;
  alignas(RawEntry) std::array<char, 32 << 10> buffer_;
};

}  // namespace rdcp::tree
