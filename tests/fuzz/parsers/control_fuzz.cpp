// The control channel from whatever bytes, in whatever pieces: it gives exactly the messages that are there,
// none longer than the limit, and after a fault none at all. A sealed channel gives only what its peer has
// sealed, in order; where something was changed on the way, it gives nothing from there on.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tests/fuzz/targets.h"
#include "tree/messages/segment_job.h"
#include "tree/protocol/control.h"

namespace rdcp::fuzz {
namespace {

using tree::ControlChannel;
using tree::RawMessage;

constexpr std::size_t kHeaderBytes = 5;
constexpr std::size_t kAtOnce = 32 << 10;  // what a socket takes without anybody reading

struct Pipe {
  Pipe() {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    here.reset(ends[0]);
    there.reset(ends[1]);
  }
  io::Fd here, there;
};

// An ack is for a channel that keeps what it has sent, which these do not.
bool may_come(std::uint8_t type) {
  return io::is_known<tree::MessageType>(type) && type != static_cast<std::uint8_t>(tree::MessageType::ack);
}

// What a channel should give for these bytes.
struct Expected {
  std::vector<std::string> bodies;
  bool fault = false;
};
Expected expected_of(std::string_view bytes) {
  Expected expected;
  const std::string_view greeting = bytes.substr(0, tree::kGreeting.size());
  expected.fault = greeting != tree::kGreeting.substr(0, greeting.size());
  bytes.remove_prefix(greeting.size());
  while (!expected.fault && bytes.size() >= kHeaderBytes) {
    const auto length = io::load_le<std::uint32_t>(bytes_of(bytes).data() + 1);
    const bool complete = bytes.size() - kHeaderBytes >= length;
    if (!complete && length <= tree::kMessageBytesMax) break;
    expected.fault = length > tree::kMessageBytesMax || !may_come(static_cast<std::uint8_t>(bytes[0]));
    if (expected.fault) break;
    expected.bodies.emplace_back(bytes.substr(kHeaderBytes, length));
    bytes.remove_prefix(kHeaderBytes + length);
  }
  return expected;
}

// Takes all messages that are there. False after a fault.
bool take_all(ControlChannel& channel, std::vector<std::string>& bodies) {
  do {
    const auto message = channel.receive();
    if (!message) return false;
    if (*message) {
      require((*message)->body.view().size() <= tree::kMessageBytesMax);
      bodies.emplace_back((*message)->body.view());
    } else {
      require(!channel.buffered());
      return true;
    }
  } while (channel.buffered());
  return true;
}

// Sends bytes in pieces of several sizes and takes what comes. False after a fault.
bool feed(int socket, ControlChannel& channel, std::string_view bytes, std::size_t piece,
          std::vector<std::string>& bodies) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    require(::write(socket, part.data(), part.size()) == static_cast<ssize_t>(part.size()));
    bytes.remove_prefix(part.size());
    for (std::size_t read = 0; read < part.size(); read += 16 << 10) {
      if (!take_all(channel, bodies)) return false;
    }
  }
  return true;
}

void read_plain(std::string_view bytes, std::size_t piece, bool greeted) {
  const std::string all = (greeted ? std::string(tree::kGreeting) : "") + std::string(bytes);
  const Expected expected = expected_of(all);
  Pipe pipe;
  ControlChannel channel(std::move(pipe.here), io::Fd(), "peer");
  std::vector<std::string> bodies;
  const bool sound = feed(pipe.there.get(), channel, all, piece, bodies);
  require(sound == !expected.fault && bodies == expected.bodies);
}

net::SealKeys keys(bool here) {
  net::SealKeys keys;
  (here ? keys.sending : keys.receiving).fill(std::byte{1});
  (here ? keys.receiving : keys.sending).fill(std::byte{2});
  return keys;
}

// Seals messages, and gives the bytes as they travel.
std::string sealed(const std::vector<std::string>& bodies) {
  Pipe pipe;
  ControlChannel channel(io::Fd(), std::move(pipe.here), "peer", keys(true));
  std::string wire;
  for (const std::string& body : bodies) {
    require(channel.send(tree::RelayedBytes{.channel = {}, .bytes = body}).ok());
    std::vector<char> room(body.size() + 256);
    const ssize_t length = ::read(pipe.there.get(), room.data(), room.size());
    require(length > 0);
    wire.append(room.data(), static_cast<std::size_t>(length));
  }
  return wire;
}

void read_sealed(Choices& choices, std::size_t piece) {
  std::vector<std::string> sent;
  for (std::size_t i = choices.below(8); i > 0; --i) sent.emplace_back(choices.piece());
  std::string wire = sealed(sent);
  const bool changes = !wire.empty() && choices.flag();
  std::size_t changed_at = wire.size();
  if (changes) {
    changed_at = choices.number<std::uint16_t>() % wire.size();
    wire[changed_at] = static_cast<char>(wire[changed_at] ^ (choices.number<std::uint8_t>() | 1));
  }
  // Behind it whatever a stranger may send: what came with it is lost, too.
  const std::string_view noise_bytes = changes ? std::string_view() : choices.rest();
  const bool noise = !noise_bytes.empty();
  wire += noise_bytes;
  Pipe pipe;
  ControlChannel channel(std::move(pipe.here), io::Fd(), "peer", keys(false));
  std::vector<std::string> bodies;
  (void)feed(pipe.there.get(), channel, wire, piece, bodies);
  require(bodies.size() <= sent.size() && (!changes || bodies.size() < sent.size()));
  require(changes || noise || bodies.size() == sent.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    tree::RelayedBytes message;
    require(tree::decode_fields(bodies[i], message) && message.bytes == sent[i]);
  }
}

}  // namespace

void fuzz_control(Bytes input) {
  Choices choices(input.first(std::min(input.size(), kAtOnce)));
  const auto mode = choices.number<std::uint8_t>();
  const std::size_t piece = 1 + choices.number<std::uint8_t>() * ((mode & 4) != 0 ? 64u : 1u);
  if ((mode & 1) != 0) return read_sealed(choices, piece);
  read_plain(choices.rest(), piece, (mode & 2) == 0);
}

}  // namespace rdcp::fuzz
