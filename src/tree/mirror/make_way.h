// A directory at the target that stands where the source has something else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/result.h"
#include "tree/guards/removal_gate.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

class Backups;
struct Change;

struct DirectoryInTheWay {
  int directory;        // that it is in
  std::string name;     // in it
  EntryPathView path;   // its Entry::path
  std::string subject;  // for messages
};

// Whether all that is in it may go, and it with that; --max-delete keeps room for it from now on. What is to
// go is told in changes, unless null. Error: something keeps it, and nothing of it is to be removed. An empty
// one may go in any mirror, others with --delete or --force.
io::Result<void> reserve_way(RemovalGate& gate, const DirectoryInTheWay& place, std::vector<Change>* changes);

// Puts something else in its place: publish() puts it under the name it is called with, in the same
// directory. Where the filesystem can exchange two names (RENAME_EXCHANGE) there is no moment without either.
// The old entry, if it may be removed, is removed under a temporary name; if the run is killed then,
// `rdcp --clean` finds it. After an error all is as before, unless the error says what is left where.
// backups: keeps what was in the directory; null: nothing does.
enum class Exchange : std::uint8_t { automatic, never };  // never: only to try the other way
io::Result<void> replace_directory(RemovalGate& gate, const DirectoryInTheWay& place,
                                   const std::function<io::Result<void>(const std::string& name)>& publish,
                                   Exchange exchange = Exchange::automatic, const Backups* backups = nullptr);

}  // namespace rdcp::tree
