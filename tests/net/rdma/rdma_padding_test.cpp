// The handshake fills a packet in each direction, and speaks with versions that do not know that.
#include <gtest/gtest.h>

#include <cerrno>
#include <future>

#include "net/rdma/rdma_connect.h"
#include "tests/net/rdma/rdma_pair.h"
#include "tests/net/rdma/rdma_raw.h"

namespace rdcp::net {
namespace {

constexpr std::size_t kLeastMtu = 256;

// Listens as a version does that says this.
class RawListener {
 public:
  explicit RawListener(RdmaPort& port) : port_(port), channel_(open_event_channel().value()) {
    // With iWARP, TCP may have the number that was picked.
    constexpr int kTriesMax = 10;
    int code = listen();
    for (int tries = 1; code == EADDRINUSE && tries < kTriesMax; ++tries) code = listen();
    EXPECT_EQ(code, 0);
    port.listen_port = ntohs(rdma_get_src_port(id_.get()));
  }
  std::optional<RawEnd> accept(const RdmaCall& call, SaidByCm said) {
    const auto request = wait_for_request();
    EXPECT_TRUE(request);
    if (!request) return std::nullopt;
    EXPECT_TRUE(decode_cm_word(request->said).takes_padding);
    CmId id(request->id);
    auto channel = open_event_channel().value();
    EXPECT_EQ(rdma_migrate_id(id.get(), channel.get()), 0);
    auto connection = RdmaConnection::create(std::move(channel), std::move(id), port_, call, 0);
    EXPECT_TRUE(connection);
    rdma_conn_param parameters = raw_parameters(said);
    EXPECT_EQ(rdma_accept(&(*connection)->id(), &parameters), 0);
    return RawEnd(std::move(*connection));
  }

 private:
  // Listens on a number that librdmacm picks. Returns 0 or the errno.
  int listen() {
    auto address = to_socket_address({port_.host, 0}).value();
    rdma_cm_id* raw = nullptr;
    if (rdma_create_id(channel_.get(), &raw, nullptr, RDMA_PS_TCP) != 0) return errno;
    id_.reset(raw);
    return rdma_bind_addr(raw, address.get()) == 0 && rdma_listen(raw, 1) == 0 ? 0 : errno;
  }

  std::optional<CmEvent> wait_for_request() const {
    pollfd wait{channel_->fd, POLLIN, 0};
    ::poll(&wait, 1, 20'000);
    return next_cm_event(*channel_);
  }

  RdmaPort port_;
  EventChannel channel_;
  CmId id_;
};

class RdmaPaddingTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto port = find_port(WhichPort::ipv4);
    if (!port) GTEST_SKIP() << "no RDMA device";
    port_ = *port;
  }
  // Connects to a listener that says this, which returns the hello that it gets and goes on with the
  // handshake.
  std::vector<std::byte> hello_for(SaidByCm said) {
    RawListener listener(port_);
    auto connected = std::async(std::launch::async, [this] {
      return connect_rails({{port_, port_}}, job_.call(true));
    });
    auto end = listener.accept(job_.call(false), said);
    if (!end) return {};
    const auto hello = end->receive().value_or(std::vector<std::byte>{});
    EXPECT_GE(hello.size(), kHelloBytes);
    Listener proves(job_.key);
    const auto challenge = proves.challenge(std::span(hello).first<kHelloBytes>(), 1);
    EXPECT_TRUE(challenge && end->send(*challenge));
    const auto proof = end->receive();
    EXPECT_TRUE(proof && proof->size() == kProofBytes &&
                proves.check(std::span(*proof).first<kProofBytes>()));
    const auto result = connected.get();
    EXPECT_TRUE(result) << result.error().message();
    return hello;
  }
  // Sends this hello as a version that says this. Returns what comes back.
  std::optional<std::vector<std::byte>> answer_to(std::span<const std::byte> hello, SaidByCm said) {
    std::vector<RdmaPort> ports{port_};
    auto listener = RdmaListener::open(ports);
    EXPECT_TRUE(listener);
    auto accepted =
        std::async(std::launch::async, [&, call = job_.call(false)] { return listener->accept_all(call); });
    auto end = raw_connection(ports[0], job_.call(true), said);
    EXPECT_TRUE(end && end->send_long(hello));
    auto answer = end ? end->receive() : std::nullopt;
    job_.stop = true;
    accepted.wait();
    return answer;
  }

  RdmaJob job_;
  RdmaPort port_;
};

TEST_F(RdmaPaddingTest, AHelloFillsAPacket) {
  const auto hello = hello_for(SaidByCm::takes_padding);
  EXPECT_GE(hello.size(), kLeastMtu);
  EXPECT_EQ(without_padding(hello, kHelloBytes).size(), kHelloBytes);
}

TEST_F(RdmaPaddingTest, AnOlderListenerIsSentNoPadding) {
  EXPECT_EQ(hello_for(SaidByCm::nothing).size(), kHelloBytes);
}

TEST_F(RdmaPaddingTest, AChallengeFillsAPacket) {
  const auto challenge = answer_to(Connector(job_.key, 0).hello(), SaidByCm::takes_padding);
  ASSERT_TRUE(challenge);
  EXPECT_GE(challenge->size(), kLeastMtu);
  EXPECT_EQ(without_padding(*challenge, kChallengeBytes).size(), kChallengeBytes);
}

TEST_F(RdmaPaddingTest, AnOlderConnectorIsSentNoPadding) {
  const auto challenge = answer_to(Connector(job_.key, 0).hello(), SaidByCm::nothing);
  ASSERT_TRUE(challenge);
  EXPECT_EQ(challenge->size(), kChallengeBytes);
}

TEST_F(RdmaPaddingTest, WordsBehindAHelloAreNoPadding) {
  auto hello = Connector(job_.key, 0).hello();
  std::vector<std::byte> longer(hello.begin(), hello.end());
  longer.resize(kLeastMtu);
  longer.back() = std::byte{1};
  EXPECT_FALSE(answer_to(longer, SaidByCm::takes_padding));
}

}  // namespace
}  // namespace rdcp::net
