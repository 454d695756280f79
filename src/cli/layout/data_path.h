// Chooses what the data goes over: rails or TCP, how many streams, how many slots of which size.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "io/result.h"
#include "io/words.h"
#include "net/rails/rails.h"
#include "tree/messages/job.h"

namespace rdcp::cli {

// The wishes of the user and of the hosts.
struct DataPathWish {
  tree::Transport transport = tree::Transport::automatic;
  std::string via;
  std::uint16_t port = 0;  // to listen on; 0: the user names none
  unsigned streams = 0;    // 0: automatic
  std::uint32_t chunk_bytes = 0;
  bool any_chunk_size = false;  // the user has asked for none, so smaller ones will do
  bool one_stream = false;      // whatever the user asks for: more would not keep the order of a byte stream
  bool in_order = false;        // a byte stream: more streams than fill a pipe make bytes wait
  bool wraps = false;           // sealing or packing is work for more processors than one
  bool may_grow = false;        // streams may be added while that makes the copy faster
  bool either_way = false;      // a side that cannot listen is no error: the other one may do so
  unsigned cpus = 1;            // of the host that has fewer
  std::chrono::duration<double> round_trip{0};
  bool target_in_order = false;  // a slot is kept for what was lost with a stream (see SourceWorker)
  unsigned targets = 1;  // that the chunks reach one after the other; a slot is busy until the last has it
};

// The facts that the agent at one end has reported of its host.
struct DataPathEnd {
  std::string host;  // for messages
  tree::Reach reach;
  unsigned arenas = 1;  // arenas that it locks for RDMA: compression may need a second one
};

struct DataPath {
  std::vector<net::Rail> rails;  // those that may be tried, the best first; empty: TCP alone
  bool tcp = true;               // TCP can be used, alone or to fall back to
  unsigned streams = 1;
  unsigned streams_max = 0;  // how many there may be later on, as far as memory allows; 0: no more
  std::uint32_t slots = 1;
  std::uint32_t chunk_bytes = 0;
  std::vector<io::Words> warnings;  // for all users: ends that do not fit each other
  std::vector<io::Words> notes;     // for -v: why not RDMA, why less than asked for
};

// Chooses RDMA if both ends have ports that reach each other and may lock the memory for it, else TCP. The
// arena shrinks to what may be locked: first slots, then their size, then streams. Errors: RDMA was asked for
// and is not possible (connection); neither RDMA nor TCP is possible (kind_of_no_listener()).
io::Result<DataPath> choose_data_path(const DataPathWish& wish, const DataPathEnd& connecting,
                                      const DataPathEnd& listening);
// Returns what kind of error it is that no side can listen: what the user has named may be the wrong one
// (usage); where nothing was named, nothing is wrong with the command (connection).
io::ErrorKind kind_of_no_listener(const std::string& via, std::uint16_t port);
// Returns what both agents are told of the path, without landings. connecting_protocol: the version of the
// side that connects, see Begin::rails.
tree::Begin begin_for(const DataPath& path, const tree::Reach& listening, std::uint32_t connecting_protocol);
// Chooses the path of a copy within one process, where there is no network.
DataPath data_path_within(const DataPathWish& wish);

}  // namespace rdcp::cli
