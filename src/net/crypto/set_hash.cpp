#include "net/crypto/set_hash.h"

#include <openssl/evp.h>

#include <bitset>
#include <memory>
#include <new>
#include <utility>

#include "io/bytes.h"
#include "net/crypto/octets.h"

namespace rdcp::net {
namespace {

// OpenSSL has these algorithms built in, so they fail for want of memory alone.
void require(bool done) {
  if (!done) throw std::bad_alloc();
}

}  // namespace

Sha256 sha256_of(std::initializer_list<std::span<const std::byte>> parts) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  require(context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  for (const auto part : parts) require(EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1);
  Sha256 digest;
  require(EVP_DigestFinal_ex(context.get(), to_write(digest), nullptr) == 1);
  return digest;
}

SetHash::Numbers SetHash::stretched(const Sha256& item) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                &EVP_CIPHER_CTX_free);
  const std::array<unsigned char, 16> counter{};
  require(context &&
          EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, to_read(item), counter.data()) == 1);
  const Bytes zeros{};
  Bytes stream;
  int length = 0;
  require(EVP_EncryptUpdate(context.get(), to_write(stream), &length, to_read(zeros), kBytes) == 1);
  return of_bytes(stream).sum_;
}

void SetHash::add(const Sha256& item) {
  const Numbers numbers = stretched(item);
  for (std::size_t i = 0; i < kNumbers; ++i) sum_[i] = static_cast<std::uint16_t>(sum_[i] + numbers[i]);
}

SetHash::Bytes SetHash::bytes() const {
  Bytes bytes;
  for (std::size_t i = 0; i < kNumbers; ++i) io::store_le(&bytes[2 * i], sum_[i]);
  return bytes;
}

SetHash SetHash::of_bytes(const Bytes& bytes) {
  SetHash hash;
  for (std::size_t i = 0; i < kNumbers; ++i) hash.sum_[i] = io::load_le<std::uint16_t>(&bytes[2 * i]);
  return hash;
}

// The lowest bits of the numbers are equations modulo 2, one for each number, with an unknown for each item:
// is it in the sum? There are more equations than unknowns, so they have one solution at most, which is then
// tried on whole numbers.
bool differ_by_some(const SetHash& less, const SetHash& more, const std::vector<Sha256>& items) {
  if (items.size() > kDifferingMax) return false;
  using Equation = std::bitset<kDifferingMax + 1>;  // the coefficients, and behind them the right side
  std::vector<Equation> equations(SetHash::kNumbers);
  const std::size_t right = items.size();
  for (std::size_t i = 0; i < SetHash::kNumbers; ++i)
    equations[i][right] = ((less.sum_[i] ^ more.sum_[i]) & 1) != 0;
  for (std::size_t item = 0; item < items.size(); ++item) {
    const SetHash::Numbers numbers = SetHash::stretched(items[item]);
    for (std::size_t i = 0; i < SetHash::kNumbers; ++i) equations[i][item] = (numbers[i] & 1) != 0;
  }
  for (std::size_t item = 0; item < items.size(); ++item) {
    std::size_t pivot = item;
    while (pivot < equations.size() && !equations[pivot][item]) ++pivot;
    if (pivot == equations.size()) return false;
    std::swap(equations[item], equations[pivot]);
    for (std::size_t i = 0; i < equations.size(); ++i) {
      if (i != item && equations[i][item]) equations[i] ^= equations[item];
    }
  }
  SetHash sum = less;
  for (std::size_t item = 0; item < items.size(); ++item) {
    if (equations[item][right]) sum.add(items[item]);
  }
  return sum == more;
}

}  // namespace rdcp::net
