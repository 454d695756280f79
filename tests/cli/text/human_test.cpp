#include "cli/text/human.h"

#include <gtest/gtest.h>

namespace rdcp::cli {
namespace {

TEST(Human, BytesAreDecimal) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(2'147'483'648), "2.15 GB");
  EXPECT_EQ(format_bytes(18'446'744'073'709'551'615u), "18446.74 PB");
}

TEST(Human, RatesAreDecimal) {
  EXPECT_EQ(format_rate(0), "0 B/s");
  EXPECT_EQ(format_rate(3.207e9), "3.21 GB/s");
}

TEST(Human, CountsAreGrouped) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(123456), "123,456");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

TEST(Human, ClockHasHoursOnlyWhenThereAreSome) {
  EXPECT_EQ(format_clock(-1), "0:00");
  EXPECT_EQ(format_clock(7.9), "0:07");
  EXPECT_EQ(format_clock(754), "12:34");
  EXPECT_EQ(format_clock(3723), "1:02:03");
  EXPECT_EQ(format_clock(1e18), "99:59:59");
}

TEST(Human, OneIsSingular) {
  EXPECT_EQ(plural(1, "file", "files"), "1 file");
  EXPECT_EQ(plural(0, "file", "files"), "0 files");
  EXPECT_EQ(plural(1234, "file", "files"), "1,234 files");
}

}  // namespace
}  // namespace rdcp::cli
