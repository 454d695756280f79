#include "tree/select/filter_parser.h"

#include <gtest/gtest.h>

#include <map>

namespace rdcp::tree {
namespace {

using Word = FilterParser::Word;

class FilterParserTest : public ::testing::Test {
 protected:
  FilterParser parser(bool ended_by_nul = false) {
    return FilterParser(
        [this](const std::string& path) -> io::Result<std::string> {
          if (files.contains(path)) return files[path];
          return io::errno_error("open", path, ENOENT);
        },
        ended_by_nul);
  }

  // The rules as text: "+pattern", "-pattern", with "!" and the side before the pattern.
  std::string rules(FilterParser& from) {
    std::string text;
    for (const FilterRule& rule : from.take()) {
      const char* sides[] = {"", "s", "r", "sr"};
      text += std::string(text.empty() ? "" : " ") + (rule.include ? "+" : "-") + (rule.negated ? "!" : "") +
              sides[static_cast<int>(rule.sides)] + ":" + rule.pattern;
    }
    return text;
  }
  std::string parsed(Word option, const std::string& word, bool ended_by_nul = false) {
    FilterParser from = parser(ended_by_nul);
    const auto added = from.add(option, word);
    return added ? rules(from) : "error: " + added.error().message();
  }
  std::string filter(const std::string& word) { return parsed(Word::filter, word); }
  bool refused(const std::string& word, std::string_view why) {
    const std::string said = filter(word);
    return said.starts_with("error: --filter ") && said.find(why) != said.npos;
  }

  std::map<std::string, std::string> files;
};

TEST_F(FilterParserTest, LettersAndWords) {
  EXPECT_EQ(filter("- x"), "-:x");
  EXPECT_EQ(filter("+ x"), "+:x");
  EXPECT_EQ(filter("exclude x"), "-:x");
  EXPECT_EQ(filter("include x"), "+:x");
  EXPECT_EQ(filter("H x") + filter("hide x"), "-s:x-s:x");
  EXPECT_EQ(filter("S x") + filter("show x"), "+s:x+s:x");
  EXPECT_EQ(filter("P x") + filter("protect x"), "-r:x-r:x");
  EXPECT_EQ(filter("R x") + filter("risk x"), "+r:x+r:x");
}

TEST_F(FilterParserTest, ModifiersAndWhatSeparates) {
  EXPECT_EQ(filter("-! x"), "-!:x");
  EXPECT_EQ(filter("exclude,! x"), "-!:x");
  EXPECT_EQ(filter("-,!_x"), "-!:x");
  EXPECT_EQ(filter("-_x"), "-:x");
  EXPECT_EQ(filter("-s x"), "-s:x");
  EXPECT_EQ(filter("+r! x"), "+!r:x");
  EXPECT_EQ(filter("-sr x"), "-sr:x");
  EXPECT_EQ(filter("-  x "), "-: x ");
  EXPECT_EQ(filter("- - x"), "-:- x");
}

TEST_F(FilterParserTest, WhatIsNoRule) {
  for (const char* word : {"x y", "excluded x", "-x", " - x", "exclude-x", "--x"}) {
    EXPECT_TRUE(filter(word).starts_with("error: --filter ")) << word << filter(word);
  }
  EXPECT_EQ(filter(""), "error: --filter: is not a filter rule");
  EXPECT_TRUE(refused("foo bar", "is not a filter rule"));
  EXPECT_TRUE(refused("-", "no pattern"));
  EXPECT_TRUE(refused("- ", "no pattern"));
  EXPECT_TRUE(refused("! x", "nothing may follow"));
  EXPECT_TRUE(refused("clear x", "nothing may follow"));
  EXPECT_TRUE(refused(":C", "dir-merge"));
  EXPECT_TRUE(refused("dir-merge .f", "dir-merge"));
  for (const char* word :
       {"-/ x", "-C", "-p x", "-x x", "Hs x", "P,r x", "-!,s x", ".e f", ".w f", "merge,n f"}) {
    EXPECT_TRUE(refused(word, "modifier that is not supported")) << word << filter(word);
  }
  EXPECT_TRUE(refused(".", "names no file"));
  EXPECT_TRUE(refused("- " + std::string(Pattern::kBytesMax + 1, 'a'), "4096"));
}

TEST_F(FilterParserTest, ExcludeAndIncludeTakePatterns) {
  EXPECT_EQ(parsed(Word::exclude, "x"), "-:x");
  EXPECT_EQ(parsed(Word::include, "x"), "+:x");
  EXPECT_EQ(parsed(Word::exclude, "+ x"), "+:x");
  EXPECT_EQ(parsed(Word::include, "- x"), "-:x");
  EXPECT_EQ(parsed(Word::exclude, "exclude x"), "-:exclude x");
  EXPECT_EQ(parsed(Word::exclude, "!x"), "-:!x");
  EXPECT_EQ(parsed(Word::exclude, "-x"), "-:-x");
}

TEST_F(FilterParserTest, ClearForgetsWhatCameBefore) {
  files["f"] = "- c\n!\n- d\n";
  for (const auto& [option, word] : std::initializer_list<std::pair<Word, const char*>>{
           {Word::exclude, "!"}, {Word::filter, "!"}, {Word::filter, "clear"}, {Word::filter, "!,"}}) {
    FilterParser from = parser();
    ASSERT_TRUE(from.add(Word::exclude, "a").ok());
    ASSERT_TRUE(from.add(option, word).ok()) << word;
    ASSERT_TRUE(from.add(Word::exclude, "b").ok());
    EXPECT_EQ(rules(from), "-:b") << word;
  }
  FilterParser from = parser();
  ASSERT_TRUE(from.add(Word::exclude, "a").ok());
  ASSERT_TRUE(from.add(Word::filter, ". f").ok());
  EXPECT_EQ(rules(from), "-:d");
}

TEST_F(FilterParserTest, FilesHaveALineForARule) {
  files["f"] = "# comment\na\n;comment\r\n\n+ b\r- c\r\nd ";
  EXPECT_EQ(parsed(Word::exclude_from, "f"), "-:a +:b -:c -:d ");
  EXPECT_EQ(parsed(Word::include_from, "f"), "+:a +:b -:c +:d ");
  files["g"] = std::string("a\nb\0#c\0\0d", 9);
  EXPECT_EQ(parsed(Word::exclude_from, "g", true), "-:a\nb -:d");
  files["empty"] = "";
  EXPECT_EQ(parsed(Word::exclude_from, "empty"), "");
}

TEST_F(FilterParserTest, MergedFiles) {
  files["f"] = "- a\nH b\nmerge,+ g\n";
  files["g"] = "- c\n!\n";
  EXPECT_EQ(filter("merge f"), "-:a -s:b +:- c +:!");
  EXPECT_EQ(filter(". f"), filter("merge_f"));
  EXPECT_EQ(filter(".- g"), "-:- c -:!");
  files["h"] = "- a\n+! b\n";
  EXPECT_EQ(filter(".s h"), "-s:a +!s:b");
  EXPECT_EQ(filter("merge,-r g"), "-r:- c -r:!");
}

TEST_F(FilterParserTest, MistakesInFilesNameTheLineOnly) {
  files["f"] = "- a\n\n#\n\nsecret\n";
  EXPECT_EQ(filter(". f"), "error: line 5 of f: is not a filter rule");
  files["g"] = ". f";
  EXPECT_EQ(filter(". g"), "error: line 5 of f: is not a filter rule");
  files["h"] = "a\r\n\r\nb\0c\r\n";
  files["h"] = std::string("a\r\n\r\nb\0c\r\n", 10);
  EXPECT_EQ(parsed(Word::exclude_from, "h"), "error: line 3 of h: has a NUL byte (see --from0)");
  files["i"] = "H x";
  EXPECT_EQ(filter(".s i"), "error: line 1 of i: a side is named here and for the file");
}

TEST_F(FilterParserTest, FilesThatCannotBeRead) {
  EXPECT_EQ(parsed(Word::exclude_from, "none"), "error: open none: No such file or directory");
  EXPECT_EQ(filter(". none"), "error: open none: No such file or directory");
}

TEST_F(FilterParserTest, CirclesEnd) {
  files["f"] = ". g\n";
  files["g"] = ". f\n";
  const std::string said = filter(". f");
  EXPECT_NE(said.find("circle"), said.npos) << said;
  files["bomb"] = ". bomb2\n. bomb2\n. bomb2\n";
  files["bomb2"] = "- a\n";
  EXPECT_EQ(filter(". bomb"), "-:a -:a -:a");
}

}  // namespace
}  // namespace rdcp::tree
