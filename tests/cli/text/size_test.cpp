#include "cli/text/size.h"

#include <gtest/gtest.h>

#include <string>

namespace rdcp::cli {
namespace {

std::uint64_t size_of(std::string_view text) {
  const auto size = parse_size("--size", text);
  EXPECT_TRUE(size.ok()) << text;
  return size.ok() ? *size : 0;
}

void expect_refused(std::string_view text, std::string_view reason) {
  const auto size = parse_size("--size", text);
  ASSERT_FALSE(size.ok()) << text << " is " << *size;
  EXPECT_EQ(size.error().kind, io::ErrorKind::usage);
  EXPECT_NE(size.error().message().find(reason), std::string::npos) << size.error().message();
  EXPECT_TRUE(size.error().message().starts_with("--size ")) << size.error().message();
}

TEST(Size, PlainNumbersAreBytes) {
  EXPECT_EQ(size_of("0"), 0u);
  EXPECT_EQ(size_of("4096"), 4096u);
  EXPECT_EQ(size_of("17B"), 17u);
}

TEST(Size, LettersAndIecUnitsCountIn1024) {
  EXPECT_EQ(size_of("64K"), 65536u);
  EXPECT_EQ(size_of("64KiB"), 65536u);
  EXPECT_EQ(size_of("3M"), 3u << 20);
  EXPECT_EQ(size_of("3MiB"), 3u << 20);
  EXPECT_EQ(size_of("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(size_of("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(size_of("1T"), std::uint64_t{1} << 40);
  EXPECT_EQ(size_of("1TiB"), std::uint64_t{1} << 40);
}

TEST(Size, SiUnitsCountIn1000) {
  EXPECT_EQ(size_of("5KB"), 5'000u);
  EXPECT_EQ(size_of("5MB"), 5'000'000u);
  EXPECT_EQ(size_of("5GB"), 5'000'000'000u);
  EXPECT_EQ(size_of("5TB"), 5'000'000'000'000u);
}

TEST(Size, AFractionIsOfItsUnit) {
  EXPECT_EQ(size_of("1.5K"), 1536u);
  EXPECT_EQ(size_of("0.5KB"), 500u);
  EXPECT_EQ(size_of("2.25GB"), 2'250'000'000u);
  EXPECT_EQ(size_of("0.001K"), 1u);
  EXPECT_EQ(size_of("1.999999999TiB"), 2 * (std::uint64_t{1} << 40) - 1100);
}

TEST(Size, CaseDoesNotMatter) {
  EXPECT_EQ(size_of("64k"), 65536u);
  EXPECT_EQ(size_of("1mib"), 1u << 20);
  EXPECT_EQ(size_of("1gb"), 1'000'000'000u);
}

TEST(Size, JunkIsRefused) {
  for (const char* text : {"", "K", "x1", " 1", "+1", "-1", "-1K"}) expect_refused(text, "not a size");
  for (const char* text : {"1X", "1 K", "1KK", "1Kib/s", "1K ", "0x10", "1e9", "1Ki", "1P"}) {
    expect_refused(text, "unknown unit");
  }
  for (const char* text : {"1.5", "1.5B", "1.G", "1.", "1.0000000001G"})
    expect_refused(text, "a fraction is");
  for (const char* text : {".5G", "1,5G"}) EXPECT_FALSE(parse_size("--size", text)) << text;
  expect_refused("1.5.5G", "unknown unit");
}

TEST(Size, LargestFileOffsetIsTheLimit) {
  expect_refused("8388608.5T", "too large");
  EXPECT_EQ(size_of("9223372036854775807"), 9223372036854775807u);
  EXPECT_EQ(size_of("8388607T"), std::uint64_t{8388607} << 40);
  for (const char* text :
       {"9223372036854775808", "8388608T", "18446744073709551616", "99999999999999999999K"}) {
    expect_refused(text, "too large");
  }
}

TEST(Count, TakesTheRangeAndNothingElse) {
  EXPECT_EQ(*parse_count("-n", "1", 1, 64), 1u);
  EXPECT_EQ(*parse_count("-n", "64", 1, 64), 64u);
  for (const char* text : {"0", "65", "", "1K", "-1", "4 ", "18446744073709551617"}) {
    const auto count = parse_count("-n", text, 1, 64);
    ASSERT_FALSE(count.ok()) << text;
    EXPECT_NE(count.error().message().find("from 1 to 64"), std::string::npos);
  }
}

}  // namespace
}  // namespace rdcp::cli
