// The handshake without a round trip: what it proves, and what it refuses.
#include "net/crypto/early.h"

#include <gtest/gtest.h>

#include "net/crypto/handshake.h"

namespace rdcp::net {
namespace {

constexpr std::uint16_t kStreams = 8;

class EarlyTest : public testing::Test {
 protected:
  io::Result<EarlyProof> check(const EarlyHello& hello) {
    return check_early(key_, terms_, hello.message, kStreams);
  }
  EarlyHello say(std::uint16_t stream = 3) { return say_early(key_, terms_, stream).value(); }

  const SessionKey key_ = make_session_key().value();
  const EarlyTerms terms_{.nonce = make_nonce().value(), .cipher = Cipher::chacha20_poly1305};
};

TEST_F(EarlyTest, BothSidesHaveTheSameKeys) {
  const EarlyHello hello = say();
  EXPECT_TRUE(begins_early(hello.message));
  const auto proof = check(hello);
  ASSERT_TRUE(proof) << proof.error().message();
  EXPECT_EQ(proof->stream_index, 3);
  EXPECT_EQ(proof->welcome, hello.welcome);
  EXPECT_EQ(proof->seal.cipher, Cipher::chacha20_poly1305);
  EXPECT_EQ(proof->seal.cipher, hello.seal.cipher);
  EXPECT_TRUE(std::ranges::equal(proof->seal.sending, hello.seal.receiving));
  EXPECT_TRUE(std::ranges::equal(proof->seal.receiving, hello.seal.sending));
  EXPECT_FALSE(std::ranges::equal(proof->seal.receiving, proof->seal.sending));
}

TEST_F(EarlyTest, EachConnectionHasKeysOfItsOwn) {
  const EarlyHello first = say();
  for (const EarlyHello& other : {say(), say(4)}) {
    EXPECT_NE(other.welcome, first.welcome);
    EXPECT_FALSE(std::ranges::equal(other.seal.sending, first.seal.sending));
  }
}

TEST_F(EarlyTest, ADifferentBitIsRefused) {
  const EarlyHello hello = say();
  for (std::size_t at = 0; at < kEarlyHelloBytes; ++at) {
    EarlyHello changed = hello;
    changed.message[at] ^= std::byte{1};
    EXPECT_FALSE(check(changed)) << at;
  }
}

TEST_F(EarlyTest, WhoWasToldSomethingElseIsRefused) {
  EarlyTerms other_nonce = terms_;
  other_nonce.nonce[0] ^= std::byte{1};
  EarlyTerms other_cipher = terms_;
  other_cipher.cipher = Cipher::aes_256_gcm;
  for (const EarlyTerms& other : {other_nonce, other_cipher}) {
    const auto refused = check(say_early(key_, other, 3).value());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("does not hold this job's key"), std::string::npos);
  }
  EXPECT_FALSE(check(say_early(make_session_key().value(), terms_, 3).value()));
}

TEST_F(EarlyTest, AStreamThatCannotBeIsRefused) {
  EXPECT_TRUE(check(say(kStreams - 1)));
  const auto refused = check(say(kStreams));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, io::ErrorKind::protocol);
}

// Neither can be taken for the other, though they have the same fields.
TEST_F(EarlyTest, ItsCodesAreNotThoseOfTheOtherHandshake) {
  const EarlyHello hello = say();
  Transcript transcript;
  transcript.stream_index = 3;
  transcript.connector_sealing = transcript.listener_sealing = said_of(Sealing::always, terms_.cipher);
  std::ranges::copy(std::span(hello.message).subspan<8, kNonceBytes>(), transcript.connector_nonce.begin());
  transcript.listener_nonce = terms_.nonce;
  EXPECT_NE(listener_mac(key_, transcript).value(), hello.welcome);
  const Mac proof = connector_mac(key_, transcript).value();
  EXPECT_FALSE(std::ranges::equal(proof, std::span(hello.message).last<kMacBytes>()));
}

}  // namespace
}  // namespace rdcp::net
