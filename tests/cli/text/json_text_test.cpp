#include "cli/text/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/result.h"

namespace rdcp::cli {
namespace {

using nlohmann::ordered_json;

TEST(JsonText, NothingInAStringDrivesATerminal) {
  const std::string raw = "\x1b[2J\x7f\u0085\u061c\u2028\u202e\u2069\n\"\\ü";
  const std::string text = json_text({{raw, raw}});
  EXPECT_EQ(io::visible_lines(text), text);
  EXPECT_NE(text.find("\\u007f\\u0085\\u061c\\u2028\\u202e\\u2069"), std::string::npos) << text;
  EXPECT_EQ(ordered_json::parse(text).at(raw), raw) << text;
}

TEST(JsonText, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(json_text("a\xff"), "\"a\uFFFD\"\n");
}

TEST(JsonText, SeveralLinesStaySeveral) {
  EXPECT_EQ(json_text({{"a", 1}}, 2), "{\n  \"a\": 1\n}\n");
  EXPECT_EQ(json_text({{"a", 1}}), "{\"a\":1}\n");
}

}  // namespace
}  // namespace rdcp::cli
