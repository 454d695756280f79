// Calls rdma_connect() in a thread of its own. For use within net only.
//
// Soft-iWARP's returns when TCP is connected, which is after minutes where packets are dropped on the way
// (Linux 6.1, siw_connect()). Other devices do not wait.
#pragma once

#include <memory>
#include <optional>

#include "io/result.h"
#include "io/thread.h"
#include "net/rdma/rdma_connection.h"

namespace rdcp::net {

class RdmaConnectThread {
 public:
  // Error (system): there can be no thread.
  static io::Result<RdmaConnectThread> start(RdmaConnectionPtr connection, const CmWord& word);
  // One that is not over runs on by itself, and closes the connection when it is.
  ~RdmaConnectThread();
  RdmaConnectThread(RdmaConnectThread&&) noexcept = default;
  RdmaConnectThread& operator=(RdmaConnectThread&&) = delete;

  // Becomes readable when it is over.
  int fd() const;
  // Returns what rdma_connect() has returned, as errno or 0; nothing while it runs.
  std::optional<int> result() const;
  // Once it is over.
  RdmaConnectionPtr take();

 private:
  struct Shared;
  explicit RdmaConnectThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
  io::Thread thread_;
};

}  // namespace rdcp::net
