// Decides how two agents' connections over TCP come about: who connects, or whether ssh carries them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "io/result.h"
#include "io/words.h"
#include "tree/messages/knock.h"

namespace rdcp::cli {

// How the connections are made.
struct Meeting {
  bool source_connects = true;
  bool through_ssh = false;
  std::vector<std::string> hosts;  // of the side that listens: those that have answered, then the others
  std::uint16_t port = 0;
  std::vector<io::Words> notes;  // for -v: what was tried before
  std::string slower;            // through ssh without having been asked for: why, and what would help
};

// A way to be tried, by a knock of the side that would connect.
struct WayToTry {
  CopySide* connecting;
  const CopySide* listening;
  const tree::Reach* reach;  // of the side that listens
  bool source_connects;
};

// A knock that has been sent, or is to be.
struct Knocking {
  WayToTry way;
  bool over = false;  // `knocked` has come
  tree::Knocked knocked = {};
  bool answered() const { return !knocked.answered.empty(); }
  // Returns why nothing was reached this way, as "far: 10.0.0.2:7000: Connection refused".
  std::string cause() const;
};

// Returns the ways, the one first that the parties would take by themselves. A side that does not listen
// cannot be reached, so there may be none.
std::vector<WayToTry> ways_to_try(const CopyRequest& request, SourceSide& source, TargetSide& target);

// Returns the meeting by a way that has answered.
Meeting meeting_by(const WayToTry& way, const std::vector<std::uint16_t>& answered);

// Returns what Meeting::slower is where a port has answered, but nothing came through. Nothing if ssh cannot
// carry the data, or must not, or if lost streams are not replaced: such a copy ends before it has told of
// what came through.
std::optional<std::string> slower_if_in_vain(const CopyRequest& request, const SourceSide& source,
                                             const TargetSide& target);

// Returns the meeting through ssh. causes: why the ways that were tried were given up, each as
// "far: 10.0.0.2:7000: Connection refused". Errors: neither side listens, as with a wrong --via (usage); ssh
// must not carry the data (connection).
io::Result<Meeting> meeting_through_ssh(const CopyRequest& request, const SourceSide& source,
                                        const TargetSide& target, std::vector<std::string> causes);

// Starts the bridges that carry this many connections between the two agents' ports. Errors: a process cannot
// be started, or an agent on this host does not listen.
io::Result<std::vector<std::unique_ptr<Bridge>>> start_bridges(const CopyRequest& request,
                                                               const SourceSide& source,
                                                               const TargetSide& target, unsigned streams);

}  // namespace rdcp::cli
