#include "tree/protocol/hello_reader.h"

#include <gtest/gtest.h>

#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

// A hello as versions up to 9 say it: protocol, program_version, cpus, boot_id.
std::string old_hello(std::uint32_t protocol) {
  Encoder encoder;
  encoder.put(protocol);
  encoder.put(std::string("0.1.0"));
  encoder.put(std::uint32_t{8});
  encoder.put(std::string("boot"));
  return encoder.take();
}

std::string new_hello(std::uint32_t protocol, std::uint32_t oldest) {
  Hello hello;
  hello.protocol = protocol;
  hello.oldest = oldest;
  hello.cpus = 8;
  hello.rejoin_socket = "name";
  return encode_fields(hello);
}

TEST(HelloReader, OurOwnVersionIsRead) {
  const HelloRead read = read_hello(new_hello(kProtocolVersion, kOldestProtocol));
  ASSERT_TRUE(read.hello);
  EXPECT_EQ(read.protocol, kProtocolVersion);
  EXPECT_EQ(read.hello->cpus, 8u);
  EXPECT_EQ(read.hello->rejoin_socket, "name");
}

TEST(HelloReader, TheVersionBeforeIsSpokenWithoutWhatIsNew) {
  const HelloRead read = read_hello(old_hello(9));
  ASSERT_TRUE(read.hello);
  EXPECT_EQ(read.protocol, 9u);
  EXPECT_EQ(read.hello->oldest, 9u);
  EXPECT_EQ(read.hello->boot_id, "boot");
  EXPECT_EQ(read.hello->rejoin_socket, "");
}

// As versions 10 to 13 say it.
TEST(HelloReader, ThoseThatCanBeRejoinedAreSpokenToAsWell) {
  for (const std::uint32_t protocol : {10u, 13u}) {
    const std::string whole = new_hello(protocol, kOldestProtocol);
    const HelloRead read = read_hello(std::string_view(whole).substr(0, whole.size() - sizeof(bool)));
    ASSERT_TRUE(read.hello) << protocol;
    EXPECT_EQ(read.hello->rejoin_socket, "name");
    EXPECT_FALSE(read.hello->fast_aes);
    EXPECT_FALSE(read_hello(whole).hello) << "it says more than it knows of";
  }
}

TEST(HelloReader, OlderOnesAreNot) {
  const HelloRead read = read_hello(old_hello(8));
  EXPECT_EQ(read.protocol, 8u);
  EXPECT_FALSE(read.hello);
}

// A later version says more at the end, and says itself whether it speaks ours.
TEST(HelloReader, LaterOnesAreSpokenWithIfTheySpeakThisOne) {
  const HelloRead next = read_hello(new_hello(kProtocolVersion + 1, kProtocolVersion) + "more");
  EXPECT_EQ(next.protocol, kProtocolVersion + 1);
  ASSERT_TRUE(next.hello);
  EXPECT_EQ(next.hello->rejoin_socket, "name");
  const HelloRead far = read_hello(new_hello(kProtocolVersion + 2, kProtocolVersion + 1));
  EXPECT_EQ(far.protocol, kProtocolVersion + 2);
  EXPECT_FALSE(far.hello);
}

TEST(HelloReader, BytesThatAreNoHelloAreNone) {
  const std::string whole = new_hello(kProtocolVersion, kOldestProtocol);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_hello(whole.substr(0, length)).hello) << length;
  EXPECT_EQ(read_hello(whole + "x").protocol, 0u);
  EXPECT_EQ(read_hello(old_hello(9) + "x").protocol, 0u);
  EXPECT_EQ(read_hello("").protocol, 0u);
}

}  // namespace
}  // namespace rdcp::tree
