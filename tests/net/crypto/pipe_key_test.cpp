#include "net/crypto/pipe_key.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/net/crypto/seal_fixture.h"

namespace rdcp::net {
namespace {

// 0, 1, 2, ...
Salt salt() {
  Salt bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

// Computed with Python's hashlib.scrypt and hmac.
TEST(PipeKey, KnownAnswers) {
  const auto keys = derive_pipe_keys("secret_key", salt());
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(hex(keys->control), "dc17796ae23d07c601408ba2046c0350ae306691c9b762bd7c75613d5b5ab98a");
  EXPECT_EQ(hex(keys->data), "ac455b5d58f99674faa8907c0320121e41b352dc9a70cb0bf09837e74daad043");
}

TEST(PipeKey, TakesAnyBytes) {
  using std::string_literals::operator""s;
  const auto keys = derive_pipe_keys("\xc3\xa4 b\0c"s, salt());
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(hex(keys->control), "b90d703456c445bde4f821913c120f15c48ff443cd061775763da587c3b79ef3");
  EXPECT_EQ(hex(keys->data), "ee88259ee19ef85addbfabcab152c0eb295fde7344c50406a64d978ea14ecf4e");
}

TEST(PipeKey, EverySaltMakesOthers) {
  const auto one = derive_pipe_keys("secret_key", salt());
  const auto other = derive_pipe_keys("secret_key", Salt{});
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->control, other->control);
  EXPECT_NE(one->data, other->data);
}

TEST(PipeKey, AnEmptyOneIsRefused) {
  const auto keys = derive_pipe_keys("", salt());
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().kind, io::ErrorKind::usage);
}

}  // namespace
}  // namespace rdcp::net
