// The first message of an agent: which versions it speaks, and where it runs.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/range.h"
#include "io/words.h"
#include "tree/messages/message_type.h"

namespace rdcp::tree {

// The version of the control channel's messages. Whoever raises it lets a coordinator still talk to agents of
// the version before, without what is new (tree/protocol/hello_reader.h). What travels on streams has a
// version of its own (net/crypto/handshake.h), which both agents of a job must share.
//
// 15: targets in a chain are asked what they have of an old file (chain.h). 14: streams are proven without
// a round trip (ProveEarly). 13: a target passes on to several others (PassOn, BranchLost) and tells what
// it is busy with (Pace); agents are told of the path (PathTold), the traffic class (MarkPackets) and to
// move no thread (LeavePlacement), and may end first (EndWhenDone); the side that connects chooses of more
// rails (Begin); queue pairs are joined without librdmacm (PairOffered); streams are added while that helps
// (GrowStreams). 12: a source has several targets, of which each passes on what it gets (chain.h). 11: a
// copy may differ from its source in what the user names (Alterations); a target and a source can be asked
// for more (TargetWishes, SourceWishes); a source finds what patterns stand for (FindPaths); problems come
// with path and errno (ExplainProblems). 10: a coordinator can rejoin an agent (rejoin.h); lists for
// --check tell what they lack (Unlisted).
inline constexpr std::uint32_t kProtocolVersion = 15;
inline constexpr std::uint32_t kOldestProtocol = 9;

// In every version the first field is `protocol`, from 10 on the second is `oldest`, and later versions only
// add fields at the end.
struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  std::uint32_t protocol = kProtocolVersion;
  std::uint32_t oldest = kOldestProtocol;  // which the agent speaks as well
  io::Words program_version;
  io::Within<std::uint32_t, 1, 1u << 16> cpus = 1;
  std::string boot_id;        // the kernel's: agents with the same one see the same files
  std::string rejoin_socket;  // its name (net/sockets/user_socket.h); empty: it has none
  bool fast_aes = false;      // net::has_fast_aes(); since version 14
  auto fields() {
    return std::tie(protocol, oldest, program_version, cpus, boot_id, rejoin_socket, fast_aes);
  }
};

}  // namespace rdcp::tree
