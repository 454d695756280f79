// The help, the manual page and the completions name the same options as the parser knows.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/options/habits.h"
#include "cli/options/help_text.h"
#include "cli/options/options.h"
#include "cli/pipes/pipe_options.h"
#include "cli/pipes/pipeline_options.h"
#include "cli/text/version.h"
#include "tests/cli/shell.h"

namespace rdcp::cli {
namespace {

namespace fs = std::filesystem;

fs::path source_file(const std::string& name) {
  return fs::path(RDCP_SOURCE_DIR) / "src" / "cli" / name;
}

std::string text_of(const std::string& name) {
  std::ifstream file(source_file(name));
  EXPECT_TRUE(file.is_open()) << source_file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A program, its help, and what its parser says to option words that are followed by operands.
struct Program {
  const char* name;
  const char* help;
  std::size_t options;  // an option was added: tell the manual page and the completions, then count again
  ParseOutcome (*parse)(std::vector<const char*> words);
  std::set<std::string> others;  // long names that its manual page has besides
};

void PrintTo(const Program& program, std::ostream* out) {
  *out << program.name;
}

ParseOutcome parse_words(std::vector<const char*> words) {
  words.insert(words.begin(), "rdcp");
  return parse_options(static_cast<int>(words.size()), words.data());
}
ParseOutcome parse_rdcp(std::vector<const char*> words) {
  words.insert(words.end(), {"host:a", "b"});
  return parse_words(std::move(words));
}
ParseOutcome parse_rdsend(std::vector<const char*> words) {
  words.insert(words.begin(), "rdsend");
  words.insert(words.end(), {"host", "1", "key"});
  return parse_send_options(static_cast<int>(words.size()), words.data());
}
ParseOutcome parse_rdrecv(std::vector<const char*> words) {
  words.insert(words.begin(), "rdrecv");
  words.insert(words.end(), {"1", "key"});
  return parse_receive_options(static_cast<int>(words.size()), words.data());
}
ParseOutcome parse_rdpipe(std::vector<const char*> words) {
  words.insert(words.begin(), "rdpipe");
  words.insert(words.end(), {"host:cmd", "cmd"});
  return parse_pipeline_options(static_cast<int>(words.size()), words.data());
}

const Program kPrograms[] = {
    {"rdcp",
     kHelpText,
     73,
     parse_rdcp,
     {"--",
      "--agent",
      "--mkpath",
      "--backup",
      "--backup-dir",
      "--suffix",
      "--link-dest",
      "--log-file",
      "--hosts",
      "--failed-hosts",
      "--fanout",
      "--launcher",
      "--jobid",
      "--keep-slow-hosts",
      "--max-runtime",
      "--relative",
      "--tos",
      "--remove-source-files",
      "--ipv4",
      "--ipv6",
      "--no-numa",
      "--numa",
      "--print-config"}},
    {"rdsend", kSendHelpText, 21, parse_rdsend, {"--", "--no-numa", "--numa"}},
    {"rdrecv", kReceiveHelpText, 15, parse_rdrecv, {"--", "--no-numa", "--numa"}},
    {"rdpipe", kPipelineHelpText, 28, parse_rdpipe, {"--", "--agent", "--dry-run", "--no-numa", "--numa"}},
};
std::string completion_file(const Program& program, const char* shell) {
  const std::string name = program.name;
  return "completions/" + (shell == std::string("zsh") ? "_" + name : name + "." + shell);
}

class Documentation : public ::testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(Programs, Documentation, ::testing::ValuesIn(kPrograms),
                         [](const auto& tested) { return std::string(tested.param.name); });

struct NamedOption {
  std::string short_name;  // "-r" or empty
  std::string long_name;   // "--recursive"
  bool takes_value = false;

  std::vector<std::string> names() const {
    return short_name.empty() ? std::vector{long_name} : std::vector{short_name, long_name};
  }
};

// Lines such as "  -e, --rsh CMD    ...", "      --streams N    ..." and "      --compress[=HOW]    ...".
std::vector<NamedOption> options_of_help(const Program& program) {
  std::vector<NamedOption> options;
  std::istringstream lines(program.help);
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
    option.long_name = word.substr(0, word.find('['));
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
std::string manual_text(const Program& program) {
  std::string text = text_of(program.name + std::string(".1"));
  for (std::size_t at = 0; (at = text.find("\\-", at)) != text.npos;) text.erase(at, 1);
  return text;
}

// Words that begin with two dashes.
std::set<std::string> long_names_in(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t at = text.find(" --"); at != text.npos; at = text.find(" --", at + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-0123456789", at + 1);
    names.insert(text.substr(at + 1, end - at - 1));
  }
  return names;
}

TEST_P(Documentation, HelpIsShort) {
  std::istringstream lines(GetParam().help);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_LE(count, 100u);
}

TEST_P(Documentation, HelpNamesAllOptionsOnce) {
  std::set<std::string> names;
  for (const NamedOption& option : options_of_help(GetParam())) {
    EXPECT_TRUE(names.insert(option.long_name).second);
  }
  EXPECT_EQ(names.size(), GetParam().options);
}

TEST_P(Documentation, HelpNamesOnlyOptionsThatTheParserKnows) {
  for (const NamedOption& option : options_of_help(GetParam())) {
    for (const std::string& name : option.names()) {
      std::vector<const char*> words{name.c_str()};
      if (option.takes_value) words.push_back("no such value");
      const ParseOutcome parsed = GetParam().parse(words);
      EXPECT_EQ(parsed.text_err.find("unknown option"), std::string::npos) << parsed.text_err;
      // A flag that took a value, or the other way round, would change the number of operands.
      EXPECT_EQ(parsed.text_err.find("is missing"), std::string::npos) << parsed.text_err;
      EXPECT_EQ(parsed.text_err.find("too many"), std::string::npos) << parsed.text_err;
    }
  }
}

TEST_P(Documentation, ManualNamesEveryOptionOfTheHelp) {
  const std::string manual = manual_text(GetParam());
  for (const NamedOption& option : options_of_help(GetParam())) {
    for (const std::string& name : option.names()) EXPECT_TRUE(has_word(manual, name)) << name;
  }
}

TEST_P(Documentation, ManualNamesNoOtherOption) {
  std::set<std::string> names = long_names_in(manual_text(GetParam()));
  EXPECT_GE(names.size(), GetParam().options / 2);
  for (const NamedOption& option : options_of_help(GetParam())) names.erase(option.long_name);
  if (GetParam().name == std::string("rdcp")) std::erase_if(names, is_habit);
  EXPECT_EQ(names, GetParam().others);
}

TEST_P(Documentation, ManualNamesTheVersion) {
  EXPECT_NE(text_of(GetParam().name + std::string(".1")).find(std::string("rdcp ") + kVersion),
            std::string::npos);
}

TEST_P(Documentation, ManualHasNoFormattingFaults) {
  if (run_shell("command -v man").wait_status != 0) GTEST_SKIP() << "no man here";
  const auto result =
      run_shell("MANWIDTH=80 man --warnings -l '" +
                source_file(GetParam().name + std::string(".1")).string() + "' 2>&1 >/dev/null");
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.wait_status, 0);
}

TEST_P(Documentation, BashAndZshCompleteEveryOption) {
  for (const char* shell : {"bash", "zsh"}) {
    const std::string text = text_of(completion_file(GetParam(), shell));
    for (const NamedOption& option : options_of_help(GetParam())) {
      for (const std::string& name : option.names()) {
        EXPECT_TRUE(has_word(text, name)) << shell << ": " << name;
      }
    }
  }
}

TEST_P(Documentation, FishCompletesEveryOption) {
  const std::string text = text_of(completion_file(GetParam(), "fish"));
  for (const NamedOption& option : options_of_help(GetParam())) {
    std::string words = " -l " + option.long_name.substr(2) + " ";
    if (!option.short_name.empty()) words = " -s " + option.short_name.substr(1) + words;
    EXPECT_NE(text.find(words), std::string::npos) << words;
  }
}

TEST_P(Documentation, CompletedValuesAreTheParsersOwn) {
  const std::vector<std::pair<const char*, std::string>> choices{
      {"--transport", "auto tcp rdma"}, {"--cache", "auto keep bypass"}, {"--ring", "auto io_uring threads"}};
  for (const auto& [option, words] : choices) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
      EXPECT_NE(text_of(completion_file(GetParam(), shell)).find(words), std::string::npos) << shell;
    }
    std::istringstream each(words);
    for (std::string word; each >> word;) {
      EXPECT_FALSE(GetParam().parse({option, word.c_str()}).exit_status) << option << " " << word;
    }
  }
}

// The words that bash would offer for the last of `words`.
std::string bash_offers(const std::string& words) {
  const std::string program = words.substr(0, words.find(' '));
  const std::string script = "source " + source_file("completions/" + program + ".bash").string() +
                             "; COMP_WORDS=(" + words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _" +
                             program + "; echo \"${COMPREPLY[*]}\"";
  const auto result = run_shell("exec 2>&1; exec bash --norc -c '" + script + "'");
  EXPECT_EQ(result.wait_status, 0) << result.output;
  return result.output;
}

void expect_completed(const char* option) {
  for (const char* shell : {"bash", "zsh"})
    EXPECT_TRUE(has_word(text_of(completion_file(kPrograms[0], shell)), option)) << shell << option;
  const std::string in_fish = std::string(" -l ") + (option + 2) + " ";
  EXPECT_NE(text_of(completion_file(kPrograms[0], "fish")).find(in_fish), std::string::npos) << option;
}

// Options of the second rank, which the help has no line for.
TEST(OptionsOutsideTheHelp, AreParsedAndCompleted) {
  const std::vector<std::vector<const char*>> options{{"--mkpath"},
                                                      {"--preserve"},
                                                      {"--remove-source-files"},
                                                      {"--backup"},
                                                      {"--backup-dir", "old"},
                                                      {"--suffix", ".old", "--backup"},
                                                      {"--link-dest", "../old", "-r"},
                                                      {"--log-file", "log"},
                                                      {"--relative"},
                                                      {"--ipv4"},
                                                      {"--ipv6"},
                                                      {"--no-numa"},
                                                      {"--numa"},
                                                      {"--launcher", "kubectl -n train"},
                                                      {"--tos", "af31"},
                                                      {"--max-runtime", "60"}};
  for (const auto& words : options) {
    EXPECT_FALSE(parse_rdcp(words).exit_status) << words[0];
    expect_completed(words[0]);
  }
  EXPECT_FALSE(parse_words({"--failed-hosts", "failed", "a", "h[1-2]:b"}).exit_status);
  expect_completed("--failed-hosts");
  EXPECT_FALSE(parse_words({"--fanout", "2", "a", "h[1-2]:b"}).exit_status);
  expect_completed("--fanout");
  EXPECT_FALSE(parse_words({"--keep-slow-hosts", "a", "h[1-2]:b"}).exit_status);
  expect_completed("--keep-slow-hosts");
}

class BashCompletion : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_shell("command -v bash").wait_status != 0) GTEST_SKIP() << "no bash here";
  }
};

TEST_F(BashCompletion, OffersOptions) {
  EXPECT_EQ(bash_offers("rdcp --ca"), "--cache\n");
  EXPECT_EQ(bash_offers("rdcp --no-"),
            "--no-owner --no-xattrs --no-resume --no-deploy --no-encrypt --no-ssh-data --no-landlock "
            "--no-numa\n");
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
  EXPECT_EQ(bash_offers("rdcp -e false host : " + file.substr(0, file.size() - 1)), "\n");
}

TEST_F(BashCompletion, OffersAPipesOptionsAndFiles) {
  EXPECT_EQ(bash_offers("rdsend --k"), "--key-file --key-fd\n");
  EXPECT_EQ(bash_offers("rdsend --w"), "--wait\n");
  EXPECT_EQ(bash_offers("rdrecv --transport ="), "auto tcp rdma\n");
  const std::string file = source_file("completions/rdcp.fish").string();
  EXPECT_EQ(bash_offers("rdrecv 1 key " + file.substr(0, file.size() - 1)), file + "\n");
  EXPECT_EQ(bash_offers("rdsend --key-file " + file.substr(0, file.size() - 1)), file + "\n");
}

TEST_F(BashCompletion, OffersAPipelinesOptions) {
  EXPECT_EQ(bash_offers("rdpipe --dr"), "--dryrun\n");
  EXPECT_EQ(bash_offers("rdpipe --cache ="), "auto keep bypass\n");
  EXPECT_EQ(bash_offers("rdpipe host : "), "\n");
}

}  // namespace
}  // namespace rdcp::cli
