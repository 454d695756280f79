#include "net/tcp/tcp_connect_attempt.h"

#include "net/sockets/sockets.h"

namespace rdcp::net {

using io::Clock;

ConnectAttempt::ConnectAttempt(const ConnectCall& call, const Address& address, std::uint16_t stream_index)
    : address_(address),
      stream_index_(stream_index),
      deadline_(Clock::now() + call.terms.time_limit),
      terms_(&call.terms) {
  connect(call.options);
}

ConnectAttempt::ConnectAttempt(const ConnectCall& call, OpenConnection open, std::uint16_t stream_index)
    : address_(std::move(open.to)),
      stream_index_(stream_index),
      deadline_(Clock::now() + call.terms.time_limit),
      terms_(&call.terms),
      socket_(std::move(open.socket)),
      was_open_(true) {
  if (auto set = set_stream_options(socket_.get(), call.options.congestion, call.options.traffic_class); !set)
    fail(set.error());
}

void ConnectAttempt::connect(const TcpOptions& options) {
  const auto to = to_socket_address(address_);
  if (!to) return fail(to.error());
  auto socket = open_tcp_socket(to->storage.ss_family);
  if (!socket) return fail(socket.error());
  socket_ = std::move(*socket);
  if (auto set = set_stream_options(socket_.get(), options.congestion, options.traffic_class); !set)
    return fail(set.error());
  if (::connect(socket_.get(), to->get(), to->length) != 0 && errno != EINPROGRESS) {
    fail(io::errno_error("", ""));
  }
}

void ConnectAttempt::step() {
  if (state_ == State::connecting) {
    finish_connecting();
  } else {
    take_challenge();
  }
}

void ConnectAttempt::finish_connecting() {
  int code = 0;
  socklen_t bytes = sizeof(code);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &bytes) != 0) code = errno;
  if (code != 0) return fail(io::errno_error("", "", code));
  say_hello();
}

// An address that has answered a knock is most likely the right one. Elsewhere no proof is sent before a
// challenge has come, and unsealed data never goes to who has not proven himself.
void ConnectAttempt::say_hello() {
  state_ = State::challenged;
  const HandshakeTerms terms = terms_for(socket_.get(), *terms_);
  const bool seals = terms.sealing == Sealing::always || terms.sealing == Sealing::rather;
  if (was_open_ && terms.early && seals) return say_early_hello(terms);
  connector_.emplace(terms, stream_index_);
  if (auto sent = send_whole(socket_.get(), connector_->hello()); !sent) fail(sent.error());
}

void ConnectAttempt::say_early_hello(const HandshakeTerms& terms) {
  const auto hello = say_early(terms.key, *terms.early, stream_index_);
  if (!hello) return fail(hello.error());
  if (auto sent = send_whole(socket_.get(), hello->message); !sent) return fail(sent.error());
  seal_ = hello->seal;
  welcome_ = hello->welcome;
  state_ = State::proven;
}

void ConnectAttempt::take_challenge() {
  const auto whole = receive_rest(socket_.get(), challenge_, have_);
  const auto version = whole ? std::nullopt : other_version(std::span(challenge_).first(have_));
  if (version) {
    of_another_version_ = true;
    return fail(version_error(*version));
  }
  if (!whole) return fail(whole.error());
  if (!*whole) return;
  was_challenged_ = true;
  const auto proof = connector_->answer(challenge_);
  if (!proof) return fail(proof.error());
  const auto seal = connector_->seal_keys(challenge_);
  if (!seal) return fail(seal.error());
  seal_ = *seal;
  if (auto sent = send_whole(socket_.get(), *proof); !sent) return fail(sent.error());
  state_ = State::proven;
}

// Keeps only the cause, because all_failed() names the address.
void ConnectAttempt::fail(const io::Error& error) {
  cause_ = cause_of(error);
  socket_.reset();
}

void ConnectAttempt::fail_if_overdue(Clock::time_point now) {
  if (!under_way() || now < deadline_) return;
  const char* missing =
      state_ == State::connecting ? "does not answer" : "connected, but does not speak rdcp";
  fail(io::plain_error(io::ErrorKind::connection, "", "", missing));
}

}  // namespace rdcp::net
