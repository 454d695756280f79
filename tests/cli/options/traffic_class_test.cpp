#include "cli/options/shared_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdcp::cli {
namespace {

using ::testing::HasSubstr;
using Case = std::pair<const char*, int>;

TEST(TrafficClassOption, NumbersAreTheWholeByte) {
  const Case cases[] = {{"0", 0},      {"104", 104},  {"255", 255}, {"0x00", 0},
                        {"0x6a", 106}, {"0XFF", 255}, {"007", 7}};
  for (const auto& [word, byte] : cases) {
    const auto parsed = parse_traffic_class(word);
    ASSERT_TRUE(parsed && *parsed) << word;
    EXPECT_EQ(**parsed, byte) << word;
  }
}

// The numbers are those of RFC 2474, 2597, 3246, 5865, 8622 and 1349.
TEST(TrafficClassOption, NamesAreThoseOfSsh) {
  const Case cases[] = {{"af11", 0x28},       {"af13", 0x38},       {"af21", 0x48}, {"AF31", 0x68},
                        {"af43", 0x98},       {"cs0", 0},           {"cs1", 0x20},  {"Cs7", 0xe0},
                        {"ef", 0xb8},         {"le", 0x04},         {"va", 0xb0},   {"lowdelay", 0x10},
                        {"throughput", 0x08}, {"reliability", 0x04}};
  for (const auto& [word, byte] : cases) {
    const auto parsed = parse_traffic_class(word);
    ASSERT_TRUE(parsed && *parsed) << word;
    EXPECT_EQ(**parsed, byte) << word;
  }
}

TEST(TrafficClassOption, NoneIsTheSystems) {
  const auto parsed = parse_traffic_class("none");
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(*parsed);
}

TEST(TrafficClassOption, WhatIsNoClassIsRefusedWithWhatThereIs) {
  for (const char* word :
       {"", "256", "-1", "+1", "0x", "0x-1", "0x100", "1.5", "12 ", "af14", "af51", "cs8", "lossless"}) {
    const auto parsed = parse_traffic_class(word);
    ASSERT_FALSE(parsed) << word;
    EXPECT_EQ(parsed.error().kind, io::ErrorKind::usage);
    EXPECT_THAT(parsed.error().message(), HasSubstr("--tos"));
    EXPECT_THAT(parsed.error().message(), HasSubstr("0 to 255 (0x00 to 0xff), none, or one of cs0, cs1, "));
    EXPECT_THAT(parsed.error().message(), HasSubstr(", throughput, reliability"));
  }
}

TEST(TrafficClassOption, IsShownWithItsDscp) {
  EXPECT_EQ(describe_traffic_class(104), "traffic class 104 (DSCP 26, af31)");
  EXPECT_EQ(describe_traffic_class(106), "traffic class 106 (DSCP 26, af31)");
  EXPECT_EQ(describe_traffic_class(0), "traffic class 0 (DSCP 0, cs0)");
  EXPECT_EQ(describe_traffic_class(255), "traffic class 255 (DSCP 63)");
}

}  // namespace
}  // namespace rdcp::cli
