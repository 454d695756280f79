// Decides, for files with several names at the source, which name the others are linked to at the target.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tree/plan/item.h"

namespace rdcp::tree {

// Thread-safe; bounded by the number of such files. A file's first name is copied, and the others are linked
// to it when all else is settled. A first name that the target left alone, or that could not be copied, must
// not be linked to: the next name is copied in its place.
class LinkedFiles {
 public:
  // Returns true if the item is the first of its file's names that the walk meets.
  bool is_first(const Item& item);

  // Lets another name take this one's place, because the target does not have the source's file under it.
  void pass_on(const Item& item);

  // Adds a further name, for a later round.
  void add(Item item);
  // Returns the names whose turn it is. Called when everything handed out before is settled. Most become
  // links, with link_root and link_target set. A name that takes the place of the first becomes an entry, and
  // the other names of its file stay for the next round, because it is only copied in this one.
  std::vector<Item> next_round();

  // Notes that the first name gets a new inode at the target.
  void replace(const Item& item);
  bool is_replaced(const Item& item);

 private:
  struct File {
    const Root* root = nullptr;
    std::string path;  // the first name's path beneath root
    std::uint64_t round = 0;
    bool vacant = false;
    bool replaced = false;
  };
  using Key = std::pair<dev_t, ino_t>;
  enum class Turn : std::uint8_t { copy, link, wait };
  Turn turn_of(Item& item);
  static Key key_of(const Item& item) { return {item.status.st_dev, item.status.st_ino}; }

  std::mutex mutex_;
  std::map<Key, File> files_;
  std::uint64_t round_ = 0;
  std::deque<Item> further_;
};

}  // namespace rdcp::tree
