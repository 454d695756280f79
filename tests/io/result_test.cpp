#include "io/result.h"

#include <gtest/gtest.h>

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
