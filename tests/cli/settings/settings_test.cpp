#include "cli/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/settings/host_config.h"
#include "tests/tree/scratch_directory.h"

namespace rdcp::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> good(std::string_view text) {
  auto words = read_settings(text, "F");
  EXPECT_TRUE(words) << words.error().message();
  return words ? *words : std::vector<std::string>();
}

std::string refused(std::string_view text) {
  const auto words = read_settings(text, "F");
  EXPECT_FALSE(words) << text;
  EXPECT_TRUE(words || words.error().kind == io::ErrorKind::usage);
  return words ? "" : words.error().message();
}

TEST(Settings, EachLineIsAnOption) {
  EXPECT_THAT(good(""), IsEmpty());
  EXPECT_THAT(good("\n  # nothing\n\t\n"), IsEmpty());
  EXPECT_THAT(good("--no-deploy\n--data-port 7000-7015 # open\r\n --encrypt\n--compress=auto"),
              ElementsAre("--no-deploy", "--data-port=7000-7015", "--encrypt", "--compress=auto"));
}

TEST(Settings, OnlyWhatIsAboutHostsAndNetworksMayStandThere) {
  for (const char* line : {"--delete", "-r", "x", "--data-port", "--no-deploy=1", "--no-encrypt yes",
                           "--agent", "--rsh=evil", "--no-landlock", "--", "=", "--data-port="}) {
    EXPECT_THAT(refused("--encrypt\n\n" + std::string(line)), testing::HasSubstr("F line 3:")) << line;
  }
  EXPECT_THAT(refused("\x1b[2J"), testing::Not(testing::HasSubstr("\x1b")))
      << "control characters are escaped";
}

TEST(Settings, StreamsStayWhereTheyAreOnHostsThatSaySo) {
  EXPECT_THAT(good("--no-numa"), ElementsAre("--no-numa"));
  const auto config = HostConfig::parse("[host \"far\"]\nnuma = never\n[host \"*\"]\nnuma = auto\n", "F");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->find("numa", "far")->word(), "--no-numa");
  EXPECT_EQ(config->find("numa", "near")->word(), "--numa");
  const auto refused = HostConfig::parse("numa = off\n", "F");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("must be one of auto, never"));
}

// The data of the others is encrypted as ever.
TEST(Settings, EncryptionIsLeftOutOnlyWhereAllHostsSaySo) {
  const tree::ScratchDirectory home;
  ASSERT_EQ(::mkdirat(home.fd(), "rdcp", 0755), 0);
  tree::write_file(home / "rdcp/config", "[host \"fast*\"]\nencrypt = never\n");
  ASSERT_EQ(::fchmodat(home.fd(), "rdcp/config", 0600, 0), 0);
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", home.path().c_str(), 1), 0);
  const auto sealing = [](const char* source, const char* target) {
    const char* const argv[] = {"rdcp", source, target};
    const Parsed parsed = parse_with_settings(3, argv, [](Options&) { return io::Result<void>(); });
    EXPECT_FALSE(parsed.exit_status) << parsed.text_err;
    return parsed.options.encrypt;
  };
  EXPECT_EQ(sealing("a", "fast1:"), net::Sealing::never);
  EXPECT_EQ(sealing("fast1:a", "fast2:"), net::Sealing::never);
  EXPECT_EQ(sealing("a", "fast1,other:"), net::Sealing::rather);
  EXPECT_EQ(sealing("a", "other,fast1:"), net::Sealing::rather);
  EXPECT_EQ(sealing("fast1:a", "other:"), net::Sealing::rather);
  EXPECT_EQ(sealing("a", "other:"), net::Sealing::rather);
  ASSERT_EQ(::unsetenv("XDG_CONFIG_HOME"), 0);
}

TEST(Settings, TheUsersOwnWordsComeLast) {
  const char* const argv[] = {"rdcp", "a", "b"};
  const SettledWords words(3, argv, {"--no-deploy", "--encrypt"});
  EXPECT_THAT(std::vector<std::string>(words.argv(), words.argv() + words.argc()),
              ElementsAre("rdcp", "--no-deploy", "--encrypt", "a", "b"));
}

}  // namespace
}  // namespace rdcp::cli
