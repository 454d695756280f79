// Sets up an agent's streams: finds out how this host can be reached, then makes the job's connections.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/thread.h"
#include "io/words.h"
#include "net/rdma/rdma_connect.h"
#include "net/tcp/knock.h"
#include "net/tcp/tcp_connect.h"
#include "tree/messages/job.h"
#include "tree/messages/knock.h"
#include "tree/streams/stream_place.h"
#include "tree/streams/stream_supervisor.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// Call open() first, then make(), which blocks until the other side is there.
class StreamSetup : public FurtherStreams {
 public:
  // place must outlive this.
  explicit StreamSetup(const StreamPlace& place) : place_(place) {}
  ~StreamSetup() override;

  // Finds out how this host can be reached, and listens if the job wants it. Error: there is nothing to
  // listen on.
  io::Result<Reach> open(const StreamWish& wish);
  // Makes the job's connections. Returns, by stream index, something from which each worker makes its stream.
  // RDMA is tried first, if there are rails; the side that connects falls back to TCP if none of them works,
  // and the side that listens takes what comes.
  io::Result<std::vector<StreamMaker>> make(const Begin& begin, bool source, const std::string& congestion);
  // Any thread may call this. make() then ends soon, with an error unless it is done.
  void stop() override;
  // After make(): where further streams come from, over RDMA or TCP like the first ones. Null if there are
  // none to come.
  FurtherStreams* further() { return may_have_further_ ? this : nullptr; }
  // After make(): stops listening, because no further streams are wanted.
  void close();
  // After make().
  bool connects() const override { return connects_in(begin_); }
  // Before make(): true if this side is to connect by this Begin.
  bool connects_in(const Begin& begin) const {
    return wish_.either_way ? begin.connects : wish_.connect == Connect::connect;
  }
  bool goes_either_way() const { return wish_.either_way; }
  // Before make(): true if the connections come through ssh by this Begin.
  bool goes_through_ssh(const Begin& begin) const { return wish_.either_way && begin.through_ssh; }
  // Tries, in a thread of its own, whether the other side can be reached by TCP, for kKnockMax at most; then
  // that thread calls told(). If make(), stop() or another knock() comes before, it may never do so.
  void knock(const Knock& at, std::function<void(net::KnockOutcome)> told);
  std::optional<FurtherStream> next(std::size_t stream) override;
  // After make(): what went wrong, in words: rails that were lost, or why RDMA was given up.
  const std::vector<io::Words>& notes() const { return notes_; }

 private:
  // The connections that make() makes, before workers take them over.
  struct Connections {
    net::RdmaConnections rdma;  // empty over TCP
    net::Sockets tcp;           // empty over RDMA
  };
  void listen_rdma(Reach& reach);
  io::Result<net::TcpListener> listen_tcp(Reach& reach);
  io::Result<Connections> accept();
  io::Result<Connections> connect();
  io::Result<Connections> meet_through_ssh();
  void stop_listening();
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
  net::HandshakeTerms rdma_terms() const;
  net::PortRange ports() const { return {wish_.port, std::max(wish_.port, wish_.port_last)}; }

  const StreamPlace& place_;
  StreamWish wish_;
  // Set by make(), for further streams.
  Begin begin_;
  net::TcpOptions tcp_;
  bool source_ = false;
  bool over_rdma_ = false;
  bool may_have_further_ = false;
  std::mutex listening_;  // keeps listeners alive while they are interrupted
  std::optional<net::TcpListener> tcp_listener_;
  std::optional<net::RdmaListener> rdma_listener_;
  std::vector<io::Words> notes_;
  // If both may come, this thread accepts over TCP. Whichever transport has all its streams first stops the
  // other one, which notices within 100 ms; nobody waits for that.
  io::Thread beside_;
  std::optional<net::Sockets> over_tcp_;  // read after the thread has ended
  std::atomic<bool> stop_tcp_{false};
  std::atomic<bool> stop_rdma_{false};
  std::atomic<bool> stop_knock_{false};
  io::Thread knocking_;
};

}  // namespace rdcp::tree
