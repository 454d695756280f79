// Sets up an agent's streams: finds out how this host can be reached, then makes the job's connections.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
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
#include "tree/streams/stream_makers.h"
#include "tree/streams/stream_place.h"
#include "tree/streams/stream_placement.h"
#include "tree/streams/stream_supervisor.h"
#include "tree/streams/tcp_beside.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// Call open() first, then make(), which blocks until the other side is there.
class StreamSetup : public FurtherStreams {
 public:
  // place must outlive this.
  explicit StreamSetup(const StreamPlace& place) : place_(place), placement_(place.numa) {}
  ~StreamSetup() override;

  // Finds out how this host can be reached, and listens if the job wants it. Error: there is nothing to
  // listen on.
  io::Result<Reach> open(const StreamWish& wish);
  // To be set before knock() and make().
  StreamHints& hints() { return hints_; }
  // The other side has lost this stream, so that make() does not wait for it. Any thread may call this.
  void hear_loss(std::size_t stream) { lost_.fetch_or(bit_of(stream)); }
  // Before make(): has offers and answers of queue pairs sent to the other side. Without it there are no
  // streams over ports without a host.
  void exchange_pairs(net::PairExchange::Ways ways) { pairs_.emplace(std::move(ways)); }
  // Takes what the other side has sent; nothing comes of what nobody waits for. Any thread may call these.
  void hear(const net::PairOffer& offer) { pairs_->take(offer); }
  void hear(const net::PairAnswer& answer) { pairs_->take(answer); }
  // Before make(): threads, their memory and completion queues stay where they are (--no-numa).
  void leave_placement() { placement_.leave(); }
  // Makes the job's connections. Returns, by stream index, something from which each worker makes its stream.
  // RDMA is tried first, if there are rails; the side that connects falls back to TCP if none of them works,
  // and the side that listens takes what comes.
  io::Result<std::vector<StreamMaker>> make(const Begin& begin, bool source, const std::string& congestion);
  // Any thread may call this. make() then ends soon, with an error unless it is done.
  void stop() override;
  // After make(): where further streams come from. Null if there are none to come. They are made over TCP or
  // RDMA like the first ones; but over TCP if all of those over RDMA are lost, and RDMA is tried in vain or
  // carried nothing. The side that listens takes what comes.
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
  // that thread calls told(). If make(), stop() or another knock() comes before, it may never do so. What it
  // has opened, make() goes on with.
  void knock(const Knock& at, std::function<void(const net::KnockOutcome&)> told);
  std::optional<FurtherStream> next(std::size_t stream, StreamsLeft left) override;
  // After make(): what went wrong, in words: rails that were lost, or why RDMA was given up; and once workers
  // run, where they do.
  std::vector<io::Words> notes() const { return placement_.added_to(notes_); }

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
  net::RdmaCall rdma_call(std::uint16_t streams, std::chrono::seconds deadline,
                          const std::atomic<bool>& stop);
  StreamForm form() const;
  std::optional<FurtherStream> connect_further(std::uint16_t stream, StreamsLeft left);
  std::optional<FurtherStream> connect_over_tcp(std::uint16_t stream);
  std::optional<FurtherStream> connect_over_rdma(std::uint16_t stream);
  std::optional<FurtherStream> accept_further();
  std::optional<FurtherStream> accept_either();

  io::Result<StreamMaker> take(net::ProvenSocket socket) const;
  io::Result<StreamMaker> take(net::RdmaConnectionPtr connection);
  template <class Connection>
  std::optional<FurtherStream> further_of(std::size_t stream, Connection connection);
  net::HandshakeTerms terms() const { return {wish_.key, wish_.encrypt}; }
  net::HandshakeTerms first_terms() const;
  static std::uint64_t bit_of(std::size_t stream) {
    return stream < kStreamsMax ? std::uint64_t{1} << stream : 0;
  }
  std::uint16_t last_port() const { return std::max(wish_.port, wish_.port_last); }

  const StreamPlace& place_;
  StreamWish wish_;
  // Set by make(), for further streams.
  Begin begin_;
  StreamHints hints_;
  std::atomic<std::uint64_t> lost_{0};  // bits of those of the first streams that hear_loss() has named
  net::KnownRails rails_;               // of the side that connects
  net::TcpOptions tcp_;
  std::optional<net::PairExchange> pairs_;
  bool source_ = false;
  bool over_rdma_ = false;
  bool may_have_further_ = false;
  std::mutex listening_;  // keeps listeners alive while they are interrupted
  std::optional<net::TcpListener> tcp_listener_;
  std::optional<net::RdmaListener> rdma_listener_;
  std::vector<io::Words> notes_;
  StreamPlacement placement_;
  // This accepts over TCP if both may come, and has the listener then. Whichever transport has all its
  // streams first stops the other one, which notices within 100 ms; nobody waits for that.
  std::optional<TcpBeside> beside_;
  std::atomic<bool> stop_tcp_{false};
  std::atomic<bool> stop_rdma_{false};
  std::atomic<bool> look_{false};  // ends a wait for a further stream over RDMA: there is something to see
  enum class Failed : std::uint8_t { neither, tcp, rdma };
  Failed failed_ = Failed::neither;  // how the last try at a further stream ended
  std::atomic<bool> stop_knock_{false};
  net::KnockOutcome knocked_;  // of knocking_, once that has ended
  io::Thread knocking_;
};

}  // namespace rdcp::tree
