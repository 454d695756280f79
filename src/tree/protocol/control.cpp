#include "tree/protocol/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "io/bytes.h"
#include "io/retry.h"
#include "io/write_all.h"
#include "tree/messages/rejoin.h"

namespace rdcp::tree {

using io::Error;
using io::ErrorKind;
using io::Result;

namespace {

constexpr std::size_t kHeaderBytes = 5;
constexpr std::size_t kNoiseShown = 200;
constexpr std::size_t kSealedHeaderBytes = 4;
// The greeting, a header and the longest message together.
constexpr std::size_t kSealedMax = kGreeting.size() + kHeaderBytes + kMessageBytesMax;

// False for what is said of the channel itself.
bool is_counted(MessageType type) {
  return type != MessageType::ack && type != MessageType::rejoin;
}

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}

}  // namespace

ControlChannel::ControlChannel(io::Fd in, io::Fd out, std::string peer,
                               const std::optional<net::SealKeys>& seal)
    : in_(std::move(in)), out_(std::move(out)), peer_(std::move(peer)) {
  if (!seal) return;
  auto sealer = net::Sealer::create(seal->cipher, seal->sending);
  auto opener = net::Opener::create(seal->cipher, seal->receiving);
  if (!sealer || !opener) {
    no_seal_ = sealer ? opener.error() : sealer.error();
    return;
  }
  sealer_ = std::move(*sealer);
  opener_ = std::move(*opener);
}

Result<io::SecretText> ControlChannel::sealed(std::string bytes) {
  if (no_seal_) return *no_seal_;
  if (!sealer_) return io::SecretText(std::move(bytes));
  std::string wire(kSealedHeaderBytes, '\0');
  io::store_le(bytes_of(wire).data(), static_cast<std::uint32_t>(bytes.size()));
  net::Tag tag;
  auto done = sealer_->seal(net::SealPart::message, bytes_of(bytes), tag, bytes_of(wire));
  if (done) done = sealer_->next();
  if (!done) return done.error();
  wire += bytes;
  wire.append(reinterpret_cast<const char*>(tag.data()), tag.size());
  return io::SecretText(std::move(wire));
}

// Opens all sealed messages that have arrived completely.
Result<void> ControlChannel::open_arrived() {
  std::span<std::byte> rest = bytes_of(arrived_);
  while (rest.size() >= kSealedHeaderBytes) {
    const std::size_t length = io::load_le<std::uint32_t>(rest.data());
    const bool too_long = length > kSealedMax;
    if (!too_long && rest.size() < kSealedHeaderBytes + length + net::kTagBytes) break;
    const auto fault =
        io::plain_error(ErrorKind::digest, "control message from", peer_,
                        "arrived altered, repeated or out of order: somebody may be tampering with the "
                        "connection");
    if (too_long) return fault;
    const std::span<std::byte> message = rest.subspan(kSealedHeaderBytes, length);
    const auto tag = rest.subspan(kSealedHeaderBytes + length).first<net::kTagBytes>();
    if (!opener_->open(net::SealPart::message, message, message, tag, rest.first(kSealedHeaderBytes))) {
      return fault;
    }
    if (auto next = opener_->next(); !next) return next;
    io::append_secret(input_, {reinterpret_cast<const char*>(message.data()), message.size()});
    rest = rest.subspan(kSealedHeaderBytes + length + net::kTagBytes);
  }
  io::drop_secret(arrived_, arrived_.size() - rest.size());
  return {};
}

Result<void> ControlChannel::send_raw(MessageType type, const io::SecretText& body) {
  Encoder header;
  header.put(type);
  header.put(static_cast<std::uint32_t>(body.size()));
  io::SecretText message(header.take());
  message.append(body);
  std::lock_guard lock(send_mutex_);
  if (broken_) return *broken_;
  if (!out_ && !lost_) return io::plain_error(ErrorKind::connection, "write to", peer_, "closed");
  if (keeps_ && is_counted(type)) unacknowledged_.add(message);
  return lost_ ? Result<void>() : write(message);
}

// To be called with the mutex held.
Result<void> ControlChannel::write(std::string_view message) {
  std::string bytes;
  if (!greeting_sent_) bytes = kGreeting;
  greeting_sent_ = true;
  io::append_secret(bytes, message);
  const auto wire = sealed(std::move(bytes));
  if (!wire) return wire.error();
  const int code = io::write_all(out_.get(), wire->view(), {.limit = send_limit_});
  if (code == 0) return {};
  if (outlasts_ && code != ETIMEDOUT) {  // the end shows when the peer is read from
    lost_ = true;
    out_.reset();
    return {};
  }
  broken_ = io::errno_error("write to", peer_, code, ErrorKind::connection);
  if (code != ETIMEDOUT) {
    // Our beats would go on, and the peer would wait for this message for ever. If this is a socket, its
    // other descriptor keeps it open.
    (void)::shutdown(out_.get(), SHUT_WR);
    out_.reset();
  }
  return *broken_;
}

void ControlChannel::limit_sends(std::chrono::milliseconds limit) {
  std::lock_guard lock(send_mutex_);
  send_limit_ = limit;
}

void ControlChannel::keep_unacknowledged() {
  std::lock_guard lock(send_mutex_);
  keeps_ = true;
}

void ControlChannel::keep_none() {
  std::lock_guard lock(send_mutex_);
  keeps_ = outlasts_ = false;
  unacknowledged_.give_up();
}

void ControlChannel::outlast_connection() {
  std::lock_guard lock(send_mutex_);
  outlasts_ = keeps_;
}

bool ControlChannel::can_go_on() {
  std::lock_guard lock(send_mutex_);
  return outlasts_ && !broken_ && unacknowledged_.complete();
}

void ControlChannel::lose_connection() {
  std::lock_guard lock(send_mutex_);
  lost_ = true;
  out_.reset();
  in_.reset();
  io::wipe(input_);
  consumed_ = 0;
}

Result<void> ControlChannel::go_on_over(ControlChannel& fresh, std::uint64_t peer_received) {
  std::lock_guard lock(send_mutex_);
  if (!unacknowledged_.acknowledge(peer_received)) return garbled();
  in_ = std::move(fresh.in_);
  out_ = std::move(fresh.out_);
  input_ = std::move(fresh.input_);
  consumed_ = fresh.consumed_;
  greeting_sent_ = greeted_ = true;
  lost_ = false;
  acknowledged_ = received_;  // by rejoin
  for (const io::SecretText& message : unacknowledged_.messages()) {
    if (auto said = write(message); !said || lost_) return said;
  }
  return {};
}

bool ControlChannel::is_unread(std::chrono::milliseconds limit) const {
  pollfd entry{out_.get(), 0, 0};
  return !out_ || (io::retry_eintr([&] { return ::poll(&entry, 1, static_cast<int>(limit.count())); }) > 0);
}

void ControlChannel::close_out() {
  std::lock_guard lock(send_mutex_);
  out_.reset();
}

Error ControlChannel::garbled() const {
  return io::plain_error(ErrorKind::protocol, "control message from", peer_, "makes no sense");
}

bool ControlChannel::buffered() const {
  if (!greeted_ || input_.size() - consumed_ < kHeaderBytes) return false;
  std::uint32_t length = 0;
  Decoder(std::string_view(input_).substr(consumed_ + 1)).get(length);
  return length > kMessageBytesMax || input_.size() - consumed_ - kHeaderBytes >= length;
}

Result<void> ControlChannel::take_lines() {
  constexpr std::size_t kLineMax = 4096;
  while (take_line_ && input_.starts_with('\1')) {
    const std::size_t end = input_.find('\n');
    if (end == input_.npos && input_.size() < kLineMax) return {};
    if (end == input_.npos) return garbled();
    const std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    if (auto taken = take_line_(line); !taken) return taken;
  }
  return {};
}

Result<std::optional<RawMessage>> ControlChannel::take() {
  if (!greeted_) {
    if (auto taken = take_lines(); !taken) return taken.error();
    if (take_line_ && input_.starts_with('\1')) return std::optional<RawMessage>();
    const std::size_t shown = std::min(input_.size(), kGreeting.size());
    if (std::string_view(input_).substr(0, shown) != kGreeting.substr(0, shown)) {
      return io::plain_error(
          ErrorKind::unreachable, "start rdcp on", peer_,
          "its login shell prints text where rdcp should speak (a noisy shell profile?): \"" +
              input_.substr(0, kNoiseShown) + "\"");
    }
    if (input_.size() < kGreeting.size()) return std::optional<RawMessage>();
    greeted_ = true;
    consumed_ = kGreeting.size();
  }
  if (!buffered()) return std::optional<RawMessage>();
  Decoder header(std::string_view(input_).substr(consumed_));
  RawMessage message;
  std::uint32_t length = 0;
  if (!header.get(message.type) || !header.get(length) || length > kMessageBytesMax) return garbled();
  message.body = input_.substr(consumed_ + kHeaderBytes, length);
  consumed_ += kHeaderBytes + length;
  if (consumed_ == input_.size()) drop_consumed();
  const auto counted = count(message);
  if (!counted) return counted.error();
  if (!*counted) return std::optional<RawMessage>();
  return std::optional<RawMessage>(std::move(message));
}

// Returns false if the message was for the channel itself.
Result<bool> ControlChannel::count(const RawMessage& message) {
  if (message.type != MessageType::ack) {
    if (is_counted(message.type)) {
      ++received_;
      acknowledge(message.body.size());
    }
    return true;
  }
  auto told = decode<Ack>(message);
  std::lock_guard lock(send_mutex_);
  if (!outlasts_ || !told || !unacknowledged_.acknowledge(told->received)) return garbled();
  return false;
}

// So often that the peer need not keep much.
void ControlChannel::acknowledge(std::size_t bytes) {
  constexpr std::uint64_t kMessages = 32;
  constexpr std::size_t kBytes = 256 << 10;
  bytes_since_ack_ += bytes;
  if (!outlasts_ || (received_ - acknowledged_ < kMessages && bytes_since_ack_ < kBytes)) return;
  acknowledged_ = received_;
  bytes_since_ack_ = 0;
  (void)send(Ack{.received = received_}).ok();
}

void ControlChannel::drop_consumed() {
  io::drop_secret(input_, consumed_);
  consumed_ = 0;
}

Result<std::optional<RawMessage>> ControlChannel::receive() {
  if (!buffered()) {
    char bytes[16 << 10];
    const long n = io::read_some(in_.get(), bytes, sizeof bytes);
    if (n < 0) return io::errno_error("read from", peer_, errno, ErrorKind::connection);
    if (n == 0)
      return io::plain_error(ErrorKind::connection, "read from", peer_,
                             "it ended unexpectedly, or the connection to it was lost");
    drop_consumed();
    const std::string_view got(bytes, static_cast<std::size_t>(n));
    io::append_secret(opener_ ? arrived_ : input_, got);
    ::explicit_bzero(bytes, got.size());
    if (no_seal_) return *no_seal_;
    if (opener_) {
      if (auto opened = open_arrived(); !opened) return opened.error();
    }
  }
  return take();
}

Result<RawMessage> ControlChannel::wait(std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    if (!buffered()) {
      pollfd entry{in_.get(), POLLIN, 0};
      const int n = io::retry_eintr([&] {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        return ::poll(&entry, 1, static_cast<int>(std::clamp<long>(left.count(), 0, 3'600'000)));
      });
      if (n == 0) return io::plain_error(ErrorKind::unreachable, "wait for", peer_, "no answer");
      if (n < 0) return io::errno_error("poll", peer_, errno, ErrorKind::connection);
    }
    auto message = receive();
    if (!message) return std::move(message).error();
    if (*message) return std::move(**message);
  }
}

}  // namespace rdcp::tree
