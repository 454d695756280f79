#include "io/result.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rdcp::io {
namespace {

TEST(Error, NamesOperationSubjectAndCause) {
  EXPECT_EQ(errno_error("open", "/a/b", EACCES).message(), "open /a/b: Permission denied");
}

TEST(Error, DetailIsTheCauseWhereThereIsNoErrno) {
  const Error error = plain_error(ErrorKind::protocol, "read frame from", "host", "bad length");
  EXPECT_EQ(error.message(), "read frame from host: bad length");
  EXPECT_EQ(error.kind, ErrorKind::protocol);
  EXPECT_EQ(error.code, 0);
}

TEST(Error, TakesErrnoOfTheCaller) {
  errno = ENOSPC;
  const Error error = errno_error("write", "x");
  EXPECT_EQ(error.code, ENOSPC);
  EXPECT_EQ(error.kind, ErrorKind::file);
}

TEST(Error, IsOneLineWithoutEscapeSequencesWhateverThePathHolds) {
  EXPECT_EQ(errno_error("open", "a\nb\x1b[31m", ENOENT).message(),
            "open a\\nb\\x1b[31m: No such file or directory");
}

TEST(Error, EscapesTheDetailToo) {
  EXPECT_EQ(plain_error(ErrorKind::protocol, "hello", "", "\x07").message(), "hello: \\x07");
}

TEST(Error, UnknownErrnoIsShownAsNumber) {
  EXPECT_EQ(errno_error("x", "y", 9999).message(), "x y: error 9999");
}

TEST(Printable, LeavesPlainTextAndUtf8) {
  EXPECT_EQ(printable("Grüße/日本/🙂.txt"), "Grüße/日本/🙂.txt");
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable(std::string_view("\0\n\t\r\x7f", 5)), "\\x00\\n\\t\\x0d\\x7f");
}

TEST(Printable, EscapesC1InUtf8) {
  EXPECT_EQ(printable("a\xc2\x9b"
                      "b\xc2\xa0"),
            "a\\xc2\\x9bb\xc2\xa0");
}

TEST(Printable, EscapesBackslashSoThatEscapesAreUnambiguous) {
  EXPECT_EQ(printable("a\\n"), "a\\\\n");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff"
                      "a\x80"),
            "\\xffa\\x80");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(printable("\xf0\x80\x80\x80"), "\\xf0\\x80\\x80\\x80") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97") << "cut short";
}

// What shows text in another order, or as if it were on another line.
const std::vector<std::string> kUnseen{"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b",
                                       "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"};

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

TEST(Printable, EscapesWhatShowsTextInAnotherOrder) {
  for (const std::string& character : kUnseen) {
    EXPECT_EQ(printable("a" + character + "b"), "a" + hexadecimal(character) + "b");
  }
  const std::string shown = "\u061b\u061d\u200d\u2010\u2027\u202f\u2065\u206a\u3028";  // their neighbours
  EXPECT_EQ(printable(shown), shown);
}

TEST(Visible, EscapesTheSameButNoEscapes) {
  EXPECT_EQ(visible("a\x1b[2J\n\t\u202e\xff\x7f"), "a\\x1b[2J\\n\\t\\xe2\\x80\\xae\\xff\\x7f");
  EXPECT_EQ(visible("C:\\"), "C:\\");
  EXPECT_EQ(visible(visible("\x1b")), visible("\x1b"));
}

TEST(Visible, LinesStayLines) {
  EXPECT_EQ(visible_lines("a\tb\nc\r\x1b\n"), "a\tb\nc\\x0d\\x1b\n");
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> value = 3;
  const Result<int> error = errno_error("a", "b", EIO);
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(*value, 3);
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, EIO);
}

}  // namespace
}  // namespace rdcp::io
