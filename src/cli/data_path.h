// Over what the data will go: rails or TCP, how many streams, how many slots of which size.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "io/result.h"
#include "io/words.h"
#include "net/rails.h"
#include "tree/job.h"

namespace rdcp::cli {

inline constexpr unsigned kOrderedStreamsMax = 8;  // of bytes in order, unless the user asks for more

// What the user and the hosts ask for.
struct DataPathWish {
  tree::Transport transport = tree::Transport::automatic;
  std::string via;
  unsigned streams = 0;  // 0: automatic
  std::uint32_t chunk_bytes = 0;
  bool one_stream = false;  // bytes in order
  unsigned cpus = 1;        // of the smaller host
  std::chrono::duration<double> round_trip{0};
};

// One end: what its agent said of itself.
struct DataPathEnd {
  std::string host;  // for messages
  tree::Reach reach;
  unsigned arenas = 1;  // that it locks over RDMA: a second one for what is compressed
};

struct DataPath {
  std::vector<net::Rail> rails;  // none: TCP alone
  bool tcp = true;               // it is there to fall back to, or all that there is
  unsigned streams = 1;
  std::uint32_t slots = 1;
  std::uint32_t chunk_bytes = 0;
  std::vector<io::Words> notes;  // for -v: why not RDMA, why less than asked for
};

// RDMA where both ends have ports that reach each other and may lock the memory for it, else TCP. The arena
// shrinks to what may be locked: first slots, then their size, then streams. Errors (connection): RDMA was
// asked for and can't be; (usage): what --via names is nowhere.
io::Result<DataPath> choose_data_path(const DataPathWish& wish, const DataPathEnd& connecting,
                                      const DataPathEnd& listening);
// What both agents are told of it, without landings.
tree::Begin begin_for(const DataPath& path, const tree::Reach& listening);
// The same within one process, where there is no network.
DataPath data_path_within(const DataPathWish& wish);

}  // namespace rdcp::cli
