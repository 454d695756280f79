// The help, the manual page and the completions name the same options as the parser knows.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/help_text.h"
#include "cli/options.h"
#include "cli/version.h"
#include "tests/cli/shell.h"

namespace rdcp::cli {
namespace {

namespace fs = std::filesystem;

fs::path source_file(const char* name) {
  return fs::path(__FILE__).parent_path().parent_path().parent_path() / "src" / "cli" / name;
}

std::string text_of(const char* name) {
  std::ifstream file(source_file(name));
  EXPECT_TRUE(file.is_open()) << source_file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct NamedOption {
  std::string short_name;  // "-r" or empty
  std::string long_name;   // "--recursive"
  bool takes_value = false;

  std::vector<std::string> names() const {
    return short_name.empty() ? std::vector{long_name} : std::vector{short_name, long_name};
  }
};

// Lines such as "  -e, --rsh CMD    ..." and "      --streams N    ...".
std::vector<NamedOption> options_of_help() {
  std::vector<NamedOption> options;
  std::istringstream lines(kHelpText);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -") && !line.starts_with("      --")) continue;
    NamedOption option;
    std::istringstream words(line.substr(0, 25));
    std::string word;
    words >> word;
    if (word.ends_with(',')) {
      option.short_name = word.substr(0, 2);
      words >> word;
    }
    option.long_name = word;
    option.takes_value = static_cast<bool>(words >> word);
    options.push_back(option);
  }
  return options;
}

// True where `text` holds `word` not as the begin or end of a longer one.
bool has_word(const std::string& text, const std::string& word) {
  const auto part_of_name = [](char c) {
    return c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !part_of_name(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !part_of_name(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

// The manual page as its reader sees dashes: roff writes them "\-".
std::string manual_text() {
  std::string text = text_of("rdcp.1");
  for (std::size_t at = 0; (at = text.find("\\-", at)) != text.npos;) text.erase(at, 1);
  return text;
}

// Words that begin with two dashes.
std::set<std::string> long_names_in(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t at = text.find(" --"); at != text.npos; at = text.find(" --", at + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 1);
    names.insert(text.substr(at + 1, end - at - 1));
  }
  return names;
}

TEST(Help, FitsAScreen) {
  std::istringstream lines(kHelpText);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_LE(count, 50u);
}

TEST(Help, NamesAllOptionsOnce) {
  std::set<std::string> names;
  for (const NamedOption& option : options_of_help()) EXPECT_TRUE(names.insert(option.long_name).second);
  EXPECT_EQ(names.size(), 26u)
      << "an option was added: tell the manual page and the completions, then count again";
}

TEST(Help, NamesOnlyOptionsThatTheParserKnows) {
  for (const NamedOption& option : options_of_help()) {
    for (const std::string& name : option.names()) {
      std::vector<const char*> argv{"rdcp", name.c_str()};
      if (option.takes_value) argv.push_back("no such value");
      argv.insert(argv.end(), {"a", "b"});
      const Parsed parsed = parse_options(static_cast<int>(argv.size()), argv.data());
      EXPECT_EQ(parsed.text_err.find("unknown option"), std::string::npos) << parsed.text_err;
      // A flag that took a value, or the other way round, would change the number of operands.
      EXPECT_TRUE(parsed.exit_status || parsed.options.sources.size() == 1) << name;
    }
  }
}

TEST(Manual, NamesEveryOptionOfTheHelp) {
  const std::string manual = manual_text();
  for (const NamedOption& option : options_of_help()) {
    for (const std::string& name : option.names()) EXPECT_TRUE(has_word(manual, name)) << name;
  }
}

TEST(Manual, NamesNoOtherOption) {
  std::set<std::string> names = long_names_in(manual_text());
  EXPECT_GT(names.size(), 20u);
  for (const NamedOption& option : options_of_help()) names.erase(option.long_name);
  EXPECT_EQ(names, (std::set<std::string>{"--", "--agent"}));
}

TEST(Manual, NamesTheVersion) {
  EXPECT_NE(text_of("rdcp.1").find(std::string("rdcp ") + kVersion), std::string::npos);
}

TEST(Manual, HasNoFormattingFaults) {
  if (run_shell("command -v man").wait_status != 0) GTEST_SKIP() << "no man here";
  const auto result =
      run_shell("MANWIDTH=80 man --warnings -l '" + source_file("rdcp.1").string() + "' 2>&1 >/dev/null");
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.wait_status, 0);
}

TEST(Completions, BashAndZshNameEveryOption) {
  for (const char* file : {"completions/rdcp.bash", "completions/_rdcp"}) {
    const std::string text = text_of(file);
    for (const NamedOption& option : options_of_help()) {
      for (const std::string& name : option.names())
        EXPECT_TRUE(has_word(text, name)) << file << ": " << name;
    }
  }
}

TEST(Completions, FishNamesEveryOption) {
  const std::string text = text_of("completions/rdcp.fish");
  for (const NamedOption& option : options_of_help()) {
    std::string words = " -l " + option.long_name.substr(2) + " ";
    if (!option.short_name.empty()) words = " -s " + option.short_name.substr(1) + words;
    EXPECT_NE(text.find(words), std::string::npos) << words;
  }
}

TEST(Completions, ValuesAreTheParsersOwn) {
  const std::vector<std::string> choices{"auto tcp rdma", "auto keep bypass", "auto io_uring threads"};
  for (const char* name : {"completions/rdcp.bash", "completions/_rdcp", "completions/rdcp.fish"}) {
    for (const std::string& words : choices) EXPECT_NE(text_of(name).find(words), std::string::npos) << name;
  }
  for (const auto& [option, words] : {std::pair("--transport", choices[0]), std::pair("--cache", choices[1]),
                                      std::pair("--ring", choices[2])}) {
    std::istringstream each(words);
    for (std::string word; each >> word;) {
      const std::vector<const char*> argv{"rdcp", option, word.c_str(), "host:a", "b"};
      EXPECT_FALSE(parse_options(static_cast<int>(argv.size()), argv.data()).exit_status)
          << option << " " << word;
    }
  }
}

// The words that bash would offer for the last of `words`.
std::string bash_offers(const std::string& words) {
  const std::string script = "source " + source_file("completions/rdcp.bash").string() + "; COMP_WORDS=(" +
                             words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rdcp; echo \"${COMPREPLY[*]}\"";
  const auto result = run_shell("exec 2>&1; exec bash --norc -c '" + script + "'");
  EXPECT_EQ(result.wait_status, 0) << result.output;
  return result.output;
}

class BashCompletion : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_shell("command -v bash").wait_status != 0) GTEST_SKIP() << "no bash here";
  }
};

TEST_F(BashCompletion, OffersOptions) {
  EXPECT_EQ(bash_offers("rdcp --ca"), "--cache\n");
  EXPECT_EQ(bash_offers("rdcp --no-"), "--no-owner --no-xattrs\n");
}

TEST_F(BashCompletion, OffersValuesAlsoBehindTheSign) {
  EXPECT_EQ(bash_offers("rdcp --cache \"\""), "auto keep bypass\n");
  EXPECT_EQ(bash_offers("rdcp --ring = th"), "threads\n");
  EXPECT_EQ(bash_offers("rdcp --transport ="), "auto tcp rdma\n");
}

TEST_F(BashCompletion, OffersFilesButNotForRemotePaths) {
  const std::string file = source_file("completions/rdcp.fish").string();
  EXPECT_EQ(bash_offers("rdcp " + file.substr(0, file.size() - 1)), file + "\n");
  EXPECT_EQ(bash_offers("rdcp -i " + file.substr(0, file.size() - 1)), file + "\n");
  EXPECT_EQ(bash_offers("rdcp host : " + file.substr(0, file.size() - 1)), "\n");
}

}  // namespace
}  // namespace rdcp::cli
