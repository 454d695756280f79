#include "net/rdma/rdma_connect_thread.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "io/descriptors.h"

namespace rdcp::net {

// The thread and whoever waits for it.
struct RdmaConnectThread::Shared {
  static constexpr int kUnderWay = -1;
  RdmaConnectionPtr connection;
  CmWord word;
  io::Event over;
  std::atomic<int> result{kUnderWay};

  void run() {
    const auto said = encode(word);
    rdma_conn_param parameters = connection_parameters(said);
    result = rdma_connect(&connection->id(), &parameters) == 0 ? 0 : errno;
    over.signal();
  }
};

io::Result<RdmaConnectThread> RdmaConnectThread::start(RdmaConnectionPtr connection, const CmWord& word) {
  auto over = io::Event::create();
  if (!over) return over.error();
  auto shared = std::make_shared<Shared>();
  shared->connection = std::move(connection);
  shared->word = word;
  shared->over = std::move(*over);
  RdmaConnectThread connecting(shared);
  auto thread = io::Thread::start("a thread that connects", [shared] { shared->run(); });
  if (!thread) return thread.error();
  connecting.thread_ = std::move(*thread);
  return connecting;
}

RdmaConnectThread::~RdmaConnectThread() {
  if (shared_ && !result()) thread_.detach();
}

int RdmaConnectThread::fd() const {
  return shared_->over.fd();
}

std::optional<int> RdmaConnectThread::result() const {
  const int result = shared_->result.load();
  return result == Shared::kUnderWay ? std::nullopt : std::optional(result);
}

RdmaConnectionPtr RdmaConnectThread::take() {
  return std::move(shared_->connection);
}

}  // namespace rdcp::net
