// The control channel: messages over a pair of descriptors (ssh's pipes, or a socket pair to an agent in this
// process).
//
// The first bytes in each direction are a fixed greeting, so that noise from a login shell is told from an
// agent; then each message is type (u8), length (u32, little-endian), fields. Integers are little-endian,
// strings and lists have a u32 count before them.
//
// Where a channel is sealed (rdsend and rdrecv with --encrypt), what is written at once, the greeting with
// the first message or a message alone, travels as its length (u32), which is authenticated with it, its
// bytes sealed, and a tag of 16 bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"
#include "io/secret.h"
#include "net/seal.h"
#include "tree/codec.h"
#include "tree/message.h"

namespace rdcp::tree {

inline constexpr std::string_view kGreeting{"\0rdcp control\n", 14};
inline constexpr std::uint32_t kMessageBytesMax = 4u << 20;

struct RawMessage {
  MessageType type{};
  io::SecretText body;  // some messages hold keys
};

// Sending is thread-safe; receiving is for one thread.
class ControlChannel {
 public:
  // peer names the other side in errors ("host:" or "coordinator").
  ControlChannel(io::Fd in, io::Fd out, std::string peer, const std::optional<net::SealKeys>& seal = {});

  template <class Message>
  io::Result<void> send(Message message) {
    return send_raw(Message::kType, encode_fields(message));
  }

  // What poll(2) must watch before receive() is called.
  int fd() const { return in_.get(); }
  // Reads what is there (one read(2), so it does not block after poll) and takes it apart: a message, nothing
  // yet, or an error: closed, noise instead of the greeting (with its beginning), a message that is too long.
  io::Result<std::optional<RawMessage>> receive();
  // Waits for one message until the deadline; error: unreachable, "no answer for N s".
  io::Result<RawMessage> wait(std::chrono::steady_clock::time_point deadline);
  // True when a whole message is buffered already, so poll would be wrong.
  bool buffered() const;
  // Closes the sending side: the other one sees the end.
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
  io::Result<io::SecretText> sealed(std::string bytes);
  io::Result<void> open_arrived();
  io::Error garbled() const;
  io::Result<std::optional<RawMessage>> take();
  void drop_consumed();

  io::Fd in_;
  io::Fd out_;
  std::string peer_;
  std::mutex send_mutex_;
  bool greeting_sent_ = false;
  bool greeted_ = false;
  std::string input_;
  std::size_t consumed_ = 0;
  // Where the channel is sealed.
  std::optional<io::Error> no_seal_;
  std::optional<net::Sealer> sealer_;
  std::optional<net::Opener> opener_;
  std::string arrived_;  // not opened yet
};

}  // namespace rdcp::tree
