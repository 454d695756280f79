#include "tree/source/sum_teller.h"

#include <gtest/gtest.h>

#include "tests/tree/sum_lines.h"

namespace rdcp::tree {
namespace {

TEST(SumTeller, HardLinksGetTheDigestOfTheirFile) {
  std::vector<SumLine> told;
  SumTeller teller([&](const Sums& sums) { told.insert(told.end(), sums.lines.begin(), sums.lines.end()); });
  teller.set_top("new");
  SumLine first = file_line("new/a", "content");
  first.linked = true;
  teller.add({first, file_line("new", ""), file_line("newer/b", "x")});
  SumLine link;
  link.type = EntryType::hard_link;
  link.path = "new/b";
  link.first_name = "new/a";
  SumLine lost = link;
  lost.first_name = "new/never-copied";
  teller.add({link, lost});
  EXPECT_TRUE(told.empty());  // gathered
  teller.finish();
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].path, "a");
  EXPECT_EQ(told[1].path, "");
  EXPECT_EQ(told[3].path, "b");
  EXPECT_EQ(told[3].type, EntryType::file);
  EXPECT_EQ(told[3].digest, first.digest);
}

}  // namespace
}  // namespace rdcp::tree
