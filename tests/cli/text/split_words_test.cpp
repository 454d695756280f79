#include "cli/text/split_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rdcp::cli {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view command) {
  const auto words = split_words("--rsh", command);
  EXPECT_TRUE(words.ok()) << command;
  return words.ok() ? *words : Words{};
}

TEST(SplitWords, BlanksSeparate) {
  EXPECT_EQ(split("ssh"), (Words{"ssh"}));
  EXPECT_EQ(split("  ssh \t -p  22\n"), (Words{"ssh", "-p", "22"}));
}

TEST(SplitWords, QuotesKeepBlanksTogether) {
  EXPECT_EQ(split("'my ssh' -o \"User x\""), (Words{"my ssh", "-o", "User x"}));
  EXPECT_EQ(split("a'b c'd\"e f\""), (Words{"ab cde f"}));
  EXPECT_EQ(split("\"it's\" 'say \"x\"'"), (Words{"it's", "say \"x\""}));
}

TEST(SplitWords, EmptyQuotesAreAWord) {
  EXPECT_EQ(split("ssh '' x"), (Words{"ssh", "", "x"}));
}

TEST(SplitWords, BackslashIsPlain) {
  EXPECT_EQ(split("a\\ b"), (Words{"a\\", "b"}));
}

TEST(SplitWords, OpenQuoteIsRefused) {
  for (const char* command : {"'", "ssh 'a", "ssh \"a'", "ssh a'"}) {
    const auto words = split_words("--rsh", command);
    ASSERT_FALSE(words.ok()) << command;
    EXPECT_EQ(words.error().kind, io::ErrorKind::usage);
  }
}

TEST(SplitWords, NoCommandIsRefused) {
  for (const char* command : {"", "  ", "''", "'' x"})
    EXPECT_FALSE(split_words("--rsh", command).ok()) << command;
}

}  // namespace
}  // namespace rdcp::cli
