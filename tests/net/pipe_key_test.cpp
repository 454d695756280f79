#include "net/pipe_key.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::net {
namespace {

std::string hex(const SessionKey& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::byte b : key) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

// Computed with Python's hashlib.scrypt and hmac.
TEST(PipeKey, KnownAnswers) {
  const auto keys = derive_pipe_keys("secret_key");
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(hex(keys->control), "676242f904b93f5d7fdc89279871449916d0f87de95f52fa91891afdd0494cdc");
  EXPECT_EQ(hex(keys->data), "23fb5486767b43448d625bf5c5eab28b360f57d1b7aba28e6b2b135f6898b9a7");
}

TEST(PipeKey, TakesAnyBytes) {
  using std::string_literals::operator""s;
  const auto keys = derive_pipe_keys("\xc3\xa4 b\0c"s);
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(hex(keys->control), "db9bcd6ef0290fadcc5fac20a93a462179d87e4baf80bf799602042a41e1bed4");
  EXPECT_EQ(hex(keys->data), "4bb034abf842c73b53ffed4b0a705edf0ac1c00810753eaec068b1cece4f316f");
}

TEST(PipeKey, AnEmptyOneIsRefused) {
  const auto keys = derive_pipe_keys("");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().kind, io::ErrorKind::usage);
}

}  // namespace
}  // namespace rdcp::net
