// The control channel carries messages over a pair of descriptors (ssh's pipes, or a socket pair to an agent
// in this process).
//
// The first bytes in each direction are a fixed greeting, which tells an agent from the noise of a login
// shell. Each message follows as type (u8), length (u32) and fields. Integers are little-endian; strings and
// lists begin with a u32 count.
//
// A sealed channel (rdsend and rdrecv with --encrypt) sends what is written at once, the greeting with the
// first message or a message alone, as its length (u32, which is authenticated with it), its sealed bytes and
// a tag of 16 bytes.
//
// A channel that is not sealed can go on over other descriptors when its own are lost
// (tree/messages/rejoin.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"
#include "io/secret.h"
#include "net/crypto/seal.h"
#include "tree/messages/message.h"
#include "tree/protocol/codec.h"
#include "tree/protocol/unacknowledged.h"

namespace rdcp::tree {

inline constexpr std::string_view kGreeting{"\0rdcp control\n", 14};
inline constexpr std::uint32_t kMessageBytesMax = 4u << 20;

struct RawMessage {
  MessageType type{};
  io::SecretText body;  // some messages contain keys
};

// Any thread may send; only one thread may receive.
class ControlChannel {
 public:
  // peer names the other side in errors.
  ControlChannel(io::Fd in, io::Fd out, std::string peer, const std::optional<net::SealKeys>& seal = {});

  // After a failure each later send() fails, too, because a part of the message may have been written; the
  // peer sees the end of the channel (except after ETIMEDOUT, see limit_sends()).
  template <class Message>
  io::Result<void> send(Message message) {
    return send_raw(Message::kType, encode_fields(message));
  }

  // Limits how long the peer may accept nothing while a message is written to it: send() then fails, with
  // ETIMEDOUT. Without this call send() waits for ever. A coordinator sets it. An agent does not: its
  // coordinator reads nothing while the user reads its output with a pager, and the agent notices its end by
  // the end of the channel.
  void limit_sends(std::chrono::milliseconds limit);

  // To be called before the first send(): what the peer has not acknowledged is kept (unacknowledged.h).
  void keep_unacknowledged();
  // Keeps nothing any more: the peer will not be met again.
  void keep_none();
  // Both sides have agreed that the connection may be lost: from now on each acknowledges what it receives,
  // and a send() that fails loses the connection instead.
  void outlast_connection();
  // True if go_on_over() can be called.
  bool can_go_on();
  // The connection is lost: closes the descriptors. What is sent from now on is kept.
  void lose_connection();
  // Returns how many messages were received, without acks and rejoins.
  std::uint64_t received() const { return received_; }
  // Goes on over the descriptors of another channel, which is left empty, and sends again what the peer has
  // not received. peer_received: how much it says it has. Error (protocol): that cannot be.
  io::Result<void> go_on_over(ControlChannel& fresh, std::uint64_t peer_received);
  // Waits at most `limit`, and returns true once nobody can read what is sent (pipe(7), unix(7)).
  bool is_unread(std::chrono::milliseconds limit) const;

  // Lines that begin with '\1' may come before the peer's greeting; take() is told each, without its end.
  // They are noise unless this is called. An error of take() is that of receive().
  void take_lines_before_greeting(std::function<io::Result<void>(std::string_view line)> take) {
    take_line_ = std::move(take);
  }
  // The descriptor to which messages are written.
  int out_fd() const { return out_.get(); }

  // The descriptor that poll(2) must watch before receive() is called.
  int fd() const { return in_.get(); }
  // Reads what is there and returns a message, or nothing if none is complete yet. It calls read(2) at most
  // once, so it does not block after poll(2). Errors: the channel is closed, noise came instead of the
  // greeting (the error quotes its beginning), or a message is too long.
  io::Result<std::optional<RawMessage>> receive();
  // Waits for one message until the deadline. The error is unreachable if none came in time ("no answer"),
  // else that of receive().
  io::Result<RawMessage> wait(std::chrono::steady_clock::time_point deadline);
  // True if a whole message is buffered already: do not poll then.
  bool buffered() const;
  // Closes the sending side, so that the other side sees the end.
  void close_out();
  bool greeted() const { return greeted_; }
  const std::string& received_noise() const { return input_; }

  template <class Message>
  io::Result<Message> decode(const RawMessage& raw) const {
    Message message;
    if (raw.type != Message::kType || !decode_fields(raw.body, message)) return garbled();
    return message;
  }

 private:
  io::Result<void> send_raw(MessageType type, const io::SecretText& body);
  io::Result<void> write(std::string_view message);
  io::Result<bool> count(const RawMessage& message);
  void acknowledge(std::size_t bytes);
  io::Result<io::SecretText> sealed(std::string bytes);
  io::Result<void> open_arrived();
  io::Error garbled() const;
  io::Result<std::optional<RawMessage>> take();
  io::Result<void> take_lines();
  void drop_consumed();

  io::Fd in_;
  io::Fd out_;
  std::string peer_;
  std::mutex send_mutex_;
  bool greeting_sent_ = false;
  std::optional<std::chrono::milliseconds> send_limit_;
  std::optional<io::Error> broken_;  // the error of the first send() that failed
  bool greeted_ = false;
  std::function<io::Result<void>(std::string_view)> take_line_;
  std::string input_;
  std::size_t consumed_ = 0;
  Unacknowledged unacknowledged_;  // guarded by send_mutex_
  bool keeps_ = false;
  bool outlasts_ = false;
  bool lost_ = false;
  std::uint64_t received_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::size_t bytes_since_ack_ = 0;
  // These are used only if the channel is sealed.
  std::optional<io::Error> no_seal_;
  std::optional<net::Sealer> sealer_;
  std::optional<net::Opener> opener_;
  std::string arrived_;  // received, but not opened yet
};

}  // namespace rdcp::tree
