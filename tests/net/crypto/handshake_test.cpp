#include "net/crypto/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/net/crypto/seal_fixture.h"

namespace rdcp::net {
namespace {

SessionKey key_of(unsigned char first) {
  SessionKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + i);
  return key;
}

const SessionKey kKey = key_of(0);

TEST(Handshake, BothSidesProveTheSameKey) {
  const Connector connector(kKey, 3);
  Listener listener(kKey);
  const auto challenge = listener.challenge(connector.hello(), 4);
  ASSERT_TRUE(challenge) << challenge.error().message();
  EXPECT_EQ(listener.stream_index(), 3);
  const auto proof = connector.answer(*challenge);
  ASSERT_TRUE(proof) << proof.error().message();
  EXPECT_TRUE(listener.check(*proof));
}

TEST(Handshake, SessionKeysDiffer) {
  const auto one = make_session_key();
  const auto other = make_session_key();
  ASSERT_TRUE(one && other);
  EXPECT_NE(*one, *other);
}

TEST(Handshake, NoncesAreFreshOnBothSides) {
  EXPECT_NE(Connector(kKey, 0).hello(), Connector(kKey, 0).hello());
  const auto hello = Connector(kKey, 0).hello();
  Listener one(kKey);
  Listener other(kKey);
  EXPECT_NE(*one.challenge(hello, 1), *other.challenge(hello, 1));
}

TEST(Handshake, ConnectorRefusesAListenerWithAnotherKey) {
  const Connector connector(kKey, 0);
  Listener listener(key_of(1));
  const auto proof = connector.answer(*listener.challenge(connector.hello(), 1));
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().kind, io::ErrorKind::connection);
  EXPECT_NE(proof.error().message().find("does not hold this job's key"), std::string::npos);
}

TEST(Handshake, ListenerRefusesAConnectorWithAnotherKey) {
  const Connector connector(key_of(1), 0);
  Listener listener(kKey);
  Listener same_key_as_connector(key_of(1));
  ASSERT_TRUE(listener.challenge(connector.hello(), 1));
  const auto proof = connector.answer(*same_key_as_connector.challenge(connector.hello(), 1));
  EXPECT_FALSE(listener.check(*proof));
}

TEST(Handshake, EveryChangedBitOfAChallengeOrProofIsRefused) {
  const Connector connector(kKey, 0);
  Listener listener(kKey);
  const auto challenge = *listener.challenge(connector.hello(), 1);
  const auto proof = *connector.answer(challenge);
  for (std::size_t bit = 0; bit < 8 * kChallengeBytes; ++bit) {
    auto changed = challenge;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(connector.answer(changed)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * kProofBytes; ++bit) {
    auto changed = proof;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(listener.check(changed)) << bit;
  }
}

// A listener without the key can only send back what it got; so can a connector.
TEST(Handshake, ReflectedMessagesProveNothing) {
  const Connector connector(kKey, 0);
  Listener listener(kKey);
  const auto hello = connector.hello();
  const auto challenge = *listener.challenge(hello, 1);
  std::array<std::byte, kProofBytes> listeners_mac;
  std::ranges::copy(std::span(challenge).last<kMacBytes>(), listeners_mac.begin());
  EXPECT_FALSE(listener.check(listeners_mac));

  std::array<std::byte, kChallengeBytes> reflected = challenge;
  const auto proof = *connector.answer(challenge);
  std::ranges::copy(proof, reflected.end() - kMacBytes);
  EXPECT_FALSE(connector.answer(reflected));
}

TEST(Handshake, AProofForOneConnectionIsNoneForAnother) {
  const Connector connector(kKey, 0);
  Listener first(kKey);
  Listener second(kKey);
  const auto proof = *connector.answer(*first.challenge(connector.hello(), 1));
  ASSERT_TRUE(second.challenge(connector.hello(), 1));
  EXPECT_FALSE(second.check(proof));
}

TEST(Handshake, TheStreamIndexCannotBeSwappedOnTheWay) {
  const Connector connector(kKey, 0);
  Listener listener(kKey);
  auto hello = connector.hello();
  hello[6] = std::byte{1};
  const auto challenge = listener.challenge(hello, 2);
  ASSERT_TRUE(challenge);
  EXPECT_FALSE(connector.answer(*challenge));
}

TEST(Handshake, IndexesStopAtTheStreamCount) {
  Listener listener(kKey);
  EXPECT_TRUE(listener.challenge(Connector(kKey, 7).hello(), 8));
  EXPECT_FALSE(listener.challenge(Connector(kKey, 8).hello(), 8));
  EXPECT_FALSE(listener.challenge(Connector(kKey, 0xffff).hello(), 8));
}

TEST(Handshake, TheVersionOfAnotherIsTold) {
  EXPECT_FALSE(other_version(version_refusal()));
  EXPECT_FALSE(other_version(Connector(kKey, 0).hello()));
  auto theirs = version_refusal();
  theirs[5] = std::byte{1};
  EXPECT_EQ(other_version(theirs), kStreamVersion + 256);
  EXPECT_FALSE(other_version(std::span(theirs).first(kRefusalBytes - 1)));
  EXPECT_FALSE(other_version({}));
  theirs[0] = std::byte{'r'};
  EXPECT_FALSE(other_version(theirs));
}

TEST(Handshake, AnotherVersionIsNamedBesideOurs) {
  Listener listener(kKey);
  auto hello = Connector(kKey, 0).hello();
  hello[4] = std::byte{0x39};
  hello[5] = std::byte{0x05};
  const auto challenge = listener.challenge(hello, 1);
  ASSERT_FALSE(challenge);
  EXPECT_NE(challenge.error().message().find("speaks stream protocol 1337, this side speaks " +
                                             std::to_string(kStreamVersion)),
            std::string::npos);
}

TEST(Handshake, OtherProtocolsAreRefused) {
  Listener listener(kKey);
  auto hello = Connector(kKey, 0).hello();
  hello[0] = std::byte{'G'};
  const auto challenge = listener.challenge(hello, 1);
  ASSERT_FALSE(challenge);
  EXPECT_EQ(challenge.error().kind, io::ErrorKind::protocol);
}

TEST(Handshake, NothingIsProvenWithoutAChallenge) {
  Listener listener(kKey);
  Transcript guessed;  // what a listener that never heard a hello would hold but for its nonce
  EXPECT_FALSE(listener.check(*connector_mac(kKey, guessed)));
  ASSERT_TRUE(listener.challenge(Connector(kKey, 0).hello(), 1));
  ASSERT_FALSE(listener.challenge(Connector(kKey, 9).hello(), 1));
  EXPECT_FALSE(listener.check(*connector_mac(kKey, guessed)));
}

// The outcome of a handshake between two sides that said this.
struct Agreed {
  std::optional<SealKeys> connector;
  std::optional<SealKeys> listener;
};
std::optional<Agreed> agree(const HandshakeTerms& connecting, const HandshakeTerms& listening) {
  const Connector connector(connecting, 0);
  Listener listener(listening);
  const auto challenge = listener.challenge(connector.hello(), 1);
  if (!challenge) return std::nullopt;
  const auto proof = connector.answer(*challenge);
  if (!proof || !listener.check(*proof)) return std::nullopt;
  return Agreed{*connector.seal_keys(*challenge), *listener.seal_keys()};
}

TEST(Handshake, BothSidesSealWithTheSameFreshKeys) {
  const HandshakeTerms sealing(kKey, Sealing::always);
  const auto one = agree(sealing, sealing);
  const auto other = agree(sealing, sealing);
  ASSERT_TRUE(one && other && one->connector && one->listener);
  EXPECT_EQ(one->connector->sending, one->listener->receiving);
  EXPECT_EQ(one->connector->receiving, one->listener->sending);
  EXPECT_NE(one->connector->sending, one->connector->receiving);
  EXPECT_NE(one->connector->sending, other->connector->sending);
  EXPECT_EQ(one->connector->cipher, one->listener->cipher);
}

TEST(Handshake, NothingIsSealedWhereNobodyAsked) {
  const auto agreed = agree(kKey, kKey);
  ASSERT_TRUE(agreed);
  EXPECT_FALSE(agreed->connector || agreed->listener);
}

// Rows: the connector; columns: the listener; both in the order of Sealing. '-': no stream.
TEST(Handshake, BothSidesComeToTheSameAsDocumented) {
  constexpr std::array<std::string_view, 4> kOutcomes = {"c-c-", "-sss", "cscs", "-sss"};
  for (std::size_t here = 0; here < 4; ++here) {
    for (std::size_t there = 0; there < 4; ++there) {
      const auto agreed = agree({kKey, static_cast<Sealing>(here)}, {kKey, static_cast<Sealing>(there)});
      const char outcome = !agreed ? '-' : agreed->connector ? 's' : 'c';
      EXPECT_EQ(outcome, kOutcomes[here][there]) << here << ' ' << there;
      EXPECT_TRUE(!agreed || agreed->connector.has_value() == agreed->listener.has_value());
    }
  }
}

TEST(Handshake, WhoWantsToSealRefusesWhoForbidsIt) {
  const std::string not_here = "was given --no-encrypt, but this side was not; give it to both or to neither";
  const std::string not_there =
      "was not given --no-encrypt, but this side was; give it to both or to neither";
  for (const Sealing wanted : {Sealing::always, Sealing::rather}) {
    const Connector plain({kKey, Sealing::never}, 0);
    const Connector sealing({kKey, wanted}, 0);
    Listener plain_listener({kKey, Sealing::never});
    Listener sealing_listener({kKey, wanted});

    const auto to_plain = sealing.answer(*plain_listener.challenge(sealing.hello(), 1));
    ASSERT_FALSE(to_plain);
    EXPECT_NE(to_plain.error().message().find(not_here), std::string::npos);
    EXPECT_EQ(plain_listener.disagreement(), not_there);

    const auto to_sealing = plain.answer(*sealing_listener.challenge(plain.hello(), 1));
    ASSERT_FALSE(to_sealing);
    EXPECT_NE(to_sealing.error().message().find(not_there), std::string::npos);
    EXPECT_EQ(sealing_listener.disagreement(), not_here);
  }
}

// A peer that holds the key and proves it all the same gets no further.
TEST(Handshake, ADisagreementOutlivesAProof) {
  const Connector plain(kKey, 0);
  Listener listener({kKey, Sealing::always});
  const auto challenge = *listener.challenge(plain.hello(), 1);
  Transcript transcript;
  transcript.listener_sealing = std::to_integer<std::uint8_t>(challenge[kNonceBytes + kSaltBytes]);
  const auto hello = plain.hello();
  std::ranges::copy(std::span(hello).last<kNonceBytes>(), transcript.connector_nonce.begin());
  std::ranges::copy(std::span(challenge).first<kNonceBytes>(), transcript.listener_nonce.begin());
  EXPECT_FALSE(listener.check(*connector_mac(kKey, transcript)));
}

// On the way, the wish to seal is taken out of either message, put in, or made a weaker one.
TEST(Handshake, NobodyOnTheWayCanTalkTheSidesOutOfSealing) {
  constexpr std::size_t kSealingAt = 7;  // the four highest bits
  constexpr std::size_t kListenerSealingAt = kNonceBytes + kSaltBytes;
  for (const Sealing sealing : {Sealing::never, Sealing::always, Sealing::if_wanted, Sealing::rather}) {
    const Connector connector({kKey, sealing}, 0);
    for (unsigned other = 0; other < 16; ++other) {
      Listener listener({kKey, sealing});
      auto hello = connector.hello();
      const auto changed = static_cast<std::byte>(other << 4);
      const bool same = hello[kSealingAt] == changed;
      hello[kSealingAt] = changed;
      auto challenge = *listener.challenge(hello, 1);
      EXPECT_EQ(connector.answer(challenge).ok(), same) << other;
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto meddled = challenge;
        meddled[kListenerSealingAt] ^= std::byte{1} << bit;
        EXPECT_FALSE(connector.answer(meddled)) << other << ' ' << bit;
      }
    }
  }
}

TEST(Handshake, AKeyMayBeMadeOfTheListenersSalt) {
  HandshakeTerms listening(kKey);
  std::ranges::fill(listening.salt, std::byte{7});
  HandshakeTerms connecting;
  connecting.key_of = [&](const Salt& salt) -> io::Result<SessionKey> {
    EXPECT_EQ(salt, listening.salt);
    return kKey;
  };
  EXPECT_TRUE(agree(connecting, listening));
  connecting.key_of = [&](const Salt&) -> io::Result<SessionKey> { return key_of(1); };
  EXPECT_FALSE(agree(connecting, listening));
}

// Made with Python's hmac module from the description in handshake.h.
TEST(Handshake, MacsAreAsDocumented) {
  Transcript transcript;
  transcript.version = 1;
  transcript.stream_index = 0x0203;
  transcript.connector_sealing = 1;
  transcript.listener_sealing = 2;
  std::ranges::fill(transcript.salt, std::byte{0xcc});
  std::ranges::fill(transcript.connector_nonce, std::byte{0xaa});
  std::ranges::fill(transcript.listener_nonce, std::byte{0xbb});
  EXPECT_EQ(hex(*listener_mac(kKey, transcript)),
            "76dc4cfb7fcaa1f50021c8b8e35a2e9ab51d2e23d0db7d72dd8b79317165a6d3");
  EXPECT_EQ(hex(*connector_mac(kKey, transcript)),
            "c6e5fb9b139c8d6608f87b03d49abdf2cd5091456901aecc28e9196dbfa31cda");
}

}  // namespace
}  // namespace rdcp::net
