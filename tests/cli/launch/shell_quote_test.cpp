#include "cli/launch/shell_quote.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/shell.h"

namespace rdcp::cli {
namespace {

// What sh takes the quoted word for. The words around it show that it stayed one word.
void expect_survives_sh(const std::string& word) {
  const auto result = run_shell("printf '<%s>' before " + shell_quote(word) + " after");
  EXPECT_EQ(result.wait_status, 0);
  EXPECT_EQ(result.output, "<before><" + word + "><after>") << shell_quote(word);
}

TEST(ShellQuote, PlainWordsStayReadable) {
  EXPECT_EQ(shell_quote("rdcp"), "rdcp");
  EXPECT_EQ(shell_quote("/opt/rdcp-1.0/bin/rdcp"), "/opt/rdcp-1.0/bin/rdcp");
}

TEST(ShellQuote, EmptyWordStaysAWord) {
  expect_survives_sh("");
}

TEST(ShellQuote, NewlineAndCarriageReturnSurvive) {
  for (const char* word : {"a\nb", "\n", "a\n", "\r", "a\r\nb", "a\n\nb\n\n"}) expect_survives_sh(word);
}

TEST(ShellQuote, QuotesSurvive) {
  for (const char* word : {"'", "''", "it's", "\"", "\"a\" 'b'", "\\", "\\'", "a\\", "'\\''"})
    expect_survives_sh(word);
}

TEST(ShellQuote, NothingIsExpanded) {
  for (const char* word : {"$HOME", "${HOME}", "$(id)", "`id`", "$((1+1))", "~", "~root/x", "!!", "{a,b}"}) {
    expect_survives_sh(word);
  }
}

TEST(ShellQuote, GlobsSurvive) {
  for (const char* word : {"*", "/*", "?", "[a-z]*", "/etc/p*"}) expect_survives_sh(word);
}

TEST(ShellQuote, CommandsAndRedirectionsSurvive) {
  for (const char* word : {"a;b", "a&b", "a|b", ">/x", "<x", "#a", "a b", "\ta ", "A=b", "(a)"})
    expect_survives_sh(word);
}

TEST(ShellQuote, LeadingDashesSurvive) {
  for (const char* word : {"-", "--", "-n", "--agent", "-e\n"}) expect_survives_sh(word);
}

TEST(ShellQuote, EveryByteSurvives) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    EXPECT_NE(shell_quote(std::string(1, static_cast<char>(byte))), "");
  }
  expect_survives_sh(all);
  expect_survives_sh(all + all);
}

}  // namespace
}  // namespace rdcp::cli
