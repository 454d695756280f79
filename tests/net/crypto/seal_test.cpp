#include "net/crypto/seal.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "tests/net/crypto/seal_fixture.h"

namespace rdcp::net {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

Sealer sealer(Cipher cipher = Cipher::aes_256_gcm, std::uint64_t number = 0,
              SealCode code = SealCode::fastest) {
  return Sealer::create(cipher, test_keys(cipher, true).sending, number, code).value();
}
Opener opener(Cipher cipher, SealCode code) {
  return Opener::create(cipher, test_keys(cipher, false).receiving, 0, code).value();
}

// Memory that a child process has, too.
class SharedBytes {
 public:
  explicit SharedBytes(std::size_t bytes)
      : bytes_(bytes),
        at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedBytes() { ::munmap(at_, bytes_); }
  std::span<std::byte> all() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  std::size_t bytes_;
  void* at_;
};

// A process that changes a byte there and back as long as this lives.
class Flipper {
 public:
  explicit Flipper(std::byte& byte) : child_(::fork()) {
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile std::byte& flipped = byte;;) flipped = flipped ^ std::byte{1};
  }
  ~Flipper() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

// The vectors of this file were made with a second implementation of HKDF, AES-GCM and ChaCha20-Poly1305, in
// Python, from the description in seal.h: session key 00 01 .. 1f, nonces of aa and bb, version 4, stream 3.
TEST(Seal, KeysAreAsDocumented) {
  const SealKeys aes = test_keys(Cipher::aes_256_gcm, true);
  EXPECT_EQ(hex(aes.sending), "a5e2cb454c72d6d37a1207646f5fd2ac4fff8ffce354b5e2146a9df2b755355e");
  EXPECT_EQ(hex(aes.receiving), "8cfbff1b8b99eed8ac4eb605cd51817a009bac661592eb365c3a0c6960e565a1");
  const SealKeys chacha = test_keys(Cipher::chacha20_poly1305, false);
  EXPECT_EQ(hex(chacha.receiving), "b70d43e442880626839facb6c63be71a920c4ae46f66dd584048548093d94666");
  EXPECT_EQ(hex(chacha.sending), "1f75b91f895c5757c18156f0fceb64ea34568ec7e476656851ad51bef1ec482d");
}

TEST(Seal, NoncesAreAsDocumented) {
  for (const SealCode code : {SealCode::fastest, SealCode::openssl}) {
    Tag tag;
    Bytes bytes = bytes_of("hello");
    Sealer first = sealer(Cipher::aes_256_gcm, 0, code);
    ASSERT_TRUE(first.seal(SealPart::frame, bytes, tag));
    EXPECT_EQ(hex(bytes) + hex(tag), "5af07107acc403c17be9e49d3c179f86f1cc5e7109");

    bytes = bytes_of("hello");
    Sealer later = sealer(Cipher::aes_256_gcm, 0x0102, code);
    ASSERT_TRUE(later.seal(SealPart::payload, bytes, tag));
    EXPECT_EQ(hex(bytes) + hex(tag), "d7e7be769c99005e87c9fa575fd000a410c15d8018");

    bytes = bytes_of("hello");
    ASSERT_TRUE(first.next());
    ASSERT_TRUE(first.seal(SealPart::message, bytes, tag, bytes_of(std::string("\5\0\0\0", 4))));
    EXPECT_EQ(hex(bytes) + hex(tag), "4366fff9d1e0e4c624e49fe6ec649b7ec67eb3f5e4");
  }
  Tag tag;
  Bytes bytes = bytes_of("hello");
  ASSERT_TRUE(sealer(Cipher::chacha20_poly1305).seal(SealPart::frame, bytes, tag));
  EXPECT_EQ(hex(bytes) + hex(tag), "78313f90045dc41aaf30e495fbec07ee5f306be20f");
}

struct Way {
  Cipher cipher;
  SealCode sealing, opening;
};

// One host may have other code than the other.
class SealWith : public testing::TestWithParam<Way> {
 protected:
  Sealer sealer() const { return net::sealer(GetParam().cipher, 0, GetParam().sealing); }
  Opener opener() const { return net::opener(GetParam().cipher, GetParam().opening); }
};
INSTANTIATE_TEST_SUITE_P(Seal, SealWith,
                         testing::Values(Way{Cipher::aes_256_gcm, SealCode::fastest, SealCode::fastest},
                                         Way{Cipher::aes_256_gcm, SealCode::fastest, SealCode::openssl},
                                         Way{Cipher::aes_256_gcm, SealCode::openssl, SealCode::fastest},
                                         Way{Cipher::aes_256_gcm, SealCode::openssl, SealCode::openssl},
                                         Way{Cipher::chacha20_poly1305, SealCode::fastest,
                                             SealCode::openssl}));

// Wide code goes by 16 and 48 blocks of 16 bytes.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all{4095, 4096, 4097, 65535, 65537, (1 << 20) + 5};
  for (std::size_t i = 0; i < 1700; ++i) all.push_back(i);
  return all;
}

TEST_P(SealWith, WhatWasSealedOpens) {
  Sealer out = sealer();
  Opener in = opener();
  for (const std::size_t length : lengths()) {
    Bytes plain(length);
    for (std::size_t i = 0; i < length; ++i) plain[i] = static_cast<std::byte>(i * 31 + i / 256);
    Bytes bytes = plain;
    Tag tag;
    ASSERT_TRUE(out.seal(SealPart::payload, bytes, tag)) << length;
    Bytes elsewhere(length);
    EXPECT_TRUE(in.open(SealPart::payload, bytes, elsewhere, tag)) << length;
    EXPECT_TRUE(elsewhere == plain);
    Bytes copied(length);
    EXPECT_TRUE(in.copy_and_open(SealPart::payload, bytes, copied, tag)) << length;
    EXPECT_TRUE(copied == plain);
    EXPECT_TRUE(in.open(SealPart::payload, bytes, bytes, tag)) << length;
    EXPECT_TRUE(bytes == plain);
    ASSERT_TRUE(out.next() && in.next());
  }
}

TEST_P(SealWith, EveryChangedBitIsNoticed) {
  const Bytes associated = bytes_of("head");
  Bytes bytes = bytes_of("what is sealed");
  Tag tag;
  ASSERT_TRUE(sealer().seal(SealPart::message, bytes, tag, associated));
  Opener in = opener();
  const auto opens = [&](const Bytes& sealed, const Tag& with, const Bytes& head) {
    Bytes to(sealed.size());
    return in.open(SealPart::message, sealed, to, with, head);
  };
  EXPECT_TRUE(opens(bytes, tag, associated));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes changed = bytes;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(opens(changed, tag, associated)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * kTagBytes; ++bit) {
    Tag changed = tag;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(opens(bytes, changed, associated)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * associated.size(); ++bit) {
    Bytes changed = associated;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(opens(bytes, tag, changed)) << bit;
  }
  EXPECT_FALSE(opens(Bytes(bytes.begin(), bytes.end() - 1), tag, associated));
}

// Its memory may be written to from elsewhere, as a device does it.
TEST_P(SealWith, WhatIsChangedWhileItIsOpenedIsNoticedOrWithoutEffect) {
  constexpr std::size_t kBytes = 1 << 20;
  const Bytes plain(kBytes, std::byte{7});
  Tag tag;
  const SharedBytes shared(kBytes);
  std::ranges::copy(plain, shared.all().begin());
  ASSERT_TRUE(sealer().seal(SealPart::payload, shared.all(), tag));
  const Flipper flipper(shared.all()[kBytes / 2]);
  Opener in = opener();
  Bytes to(kBytes);
  for (int i = 0; i < 300; ++i) {
    if (in.copy_and_open(SealPart::payload, shared.all(), to, tag)) {
      ASSERT_TRUE(to == plain);
    }
  }
}

TEST_P(SealWith, AnotherNumberPartDirectionOrKeyDoesNotOpen) {
  Bytes bytes = bytes_of("what is sealed");
  Tag tag;
  ASSERT_TRUE(sealer().seal(SealPart::frame, bytes, tag));
  Bytes to(bytes.size());
  Opener in = opener();
  EXPECT_FALSE(in.open(SealPart::payload, bytes, to, tag));
  Opener back = Opener::create(GetParam().cipher, test_keys(GetParam().cipher, false).sending).value();
  EXPECT_FALSE(back.open(SealPart::frame, bytes, to, tag));
  ASSERT_TRUE(in.next());
  EXPECT_FALSE(in.open(SealPart::frame, bytes, to, tag));
}

TEST(Seal, NoNumberIsUsedTwice) {
  Sealer out = sealer();
  Bytes bytes = bytes_of("x");
  Tag tag;
  EXPECT_TRUE(out.seal(SealPart::frame, bytes, tag));
  EXPECT_TRUE(out.seal(SealPart::payload, bytes, tag));
  EXPECT_FALSE(out.seal(SealPart::frame, bytes, tag));
  EXPECT_FALSE(out.seal(SealPart::payload, bytes, tag));
  ASSERT_TRUE(out.next());
  EXPECT_TRUE(out.seal(SealPart::frame, bytes, tag));
}

TEST(Seal, NumbersEnd) {
  Sealer out = sealer(Cipher::aes_256_gcm, kSealsMax - 2);
  EXPECT_TRUE(out.next());
  const auto over = out.next();
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind, io::ErrorKind::connection);
  EXPECT_EQ(out.number(), kSealsMax - 1);
}

}  // namespace
}  // namespace rdcp::net
