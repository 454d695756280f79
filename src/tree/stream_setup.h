// How an agent's streams come about: what this host can be reached by, then the job's connections.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/thread.h"
#include "io/words.h"
#include "net/rdma_connect.h"
#include "net/tcp_connect.h"
#include "tree/crew.h"
#include "tree/job.h"
#include "tree/stream_place.h"
#include "tree/worker.h"

namespace rdcp::tree {

// Life: open(), then make(), which blocks until the other side is there.
class StreamSetup : public FurtherStreams {
 public:
  // The place outlives this.
  explicit StreamSetup(const StreamPlace& place) : place_(place) {}
  ~StreamSetup() override;

  // Finds out by what this host can be reached, and listens if the job wants it. Error: nothing to listen on.
  io::Result<Reach> open(const StreamWish& wish);
  // The job's connections, by stream index, as something that each worker makes its stream of. RDMA first,
  // where there are rails; the side that connects falls back to TCP if none of them works, and the side that
  // listens takes what comes.
  io::Result<std::vector<StreamMaker>> make(const Begin& begin, bool source, const std::string& congestion);
  // Any thread: make() ends soon, with an error unless it is done.
  void stop() override;
  // After make(): where further streams come from, over RDMA or TCP as the first ones; null: there are none
  // to be had.
  FurtherStreams* further() { return may_have_further_ ? this : nullptr; }
  // After make(): no further streams are wanted, so nobody is listened for.
  void close();
  bool connects() const override { return wish_.connect == Connect::connect; }
  std::optional<FurtherStream> next(std::size_t stream) override;
  // After make(), in words: rails that were lost, RDMA that was given up.
  const std::vector<io::Words>& notes() const { return notes_; }

 private:
  // What make() makes, before workers take over.
  struct Connections {
    net::RdmaConnections rdma;  // these
    net::Sockets tcp;           // or these
  };
  void listen_rdma(Reach& reach);
  io::Result<net::TcpListener> listen_tcp(Reach& reach);
  io::Result<Connections> accept();
  io::Result<Connections> connect();
  net::RdmaCall rdma_call(std::uint16_t streams, std::chrono::seconds deadline) const;
  net::StreamShape shape() const {
    return {.target_slots = begin_.target_slots, .slot_bytes = begin_.chunk_bytes};
  }
  io::Result<void> accept_tcp_beside(std::chrono::seconds deadline);
  std::optional<FurtherStream> next_over_tcp(std::uint16_t stream);
  std::optional<FurtherStream> next_over_rdma(std::uint16_t stream);

  io::Result<StreamMaker> maker_of(net::ProvenSocket socket) const;
  io::Result<StreamMaker> maker_of(net::RdmaConnectionPtr connection) const;
  net::HandshakeTerms terms() const { return {wish_.key, wish_.encrypt}; }

  const StreamPlace& place_;
  StreamWish wish_;
  // Of make(), for further streams.
  Begin begin_;
  net::TcpOptions tcp_;
  bool source_ = false;
  bool over_rdma_ = false;
  bool may_have_further_ = false;
  std::mutex listening_;  // against an interrupt of a listener that goes away
  std::optional<net::TcpListener> tcp_listener_;
  std::optional<net::RdmaListener> rdma_listener_;
  std::vector<io::Words> notes_;
  // Where both may come, a thread accepts over TCP. Whichever has all its streams first stops the other; who
  // is stopped notices within 100 ms, and nobody waits for that.
  io::Thread beside_;
  std::optional<net::Sockets> over_tcp_;  // read after the thread's end
  std::atomic<bool> stop_tcp_{false};
  std::atomic<bool> stop_rdma_{false};
};

}  // namespace rdcp::tree
