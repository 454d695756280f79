// Of a large file that targets have in older versions, a chain is sent what one of them lacks.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/tree/forward/chain_test.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using testing::Each;

const std::size_t kBlock = block_bytes_for(64 << 10);
constexpr std::size_t kLarge = 3'000'123;

struct ChainDeltasTest : ChainTest, testing::WithParamInterface<bool> {
  void SetUp() override {
    fs::create_directories(scratch / "from");
    write(scratch / "from/large", now);
  }
  static void write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(path).parent_path());
    write_file(path, content);
  }
  // The new version but for some bytes here.
  std::string old_but(std::size_t at, std::size_t bytes = 1) const {
    std::string old = now;
    for (std::size_t i = at; i < at + bytes; ++i) old[i] ^= 1;
    return old;
  }
  // Each host begins with one of these; an empty one has no file.
  ChainResult copy_over(const std::vector<std::string>& olds) {
    chain = chain_of(olds.size());
    for (std::size_t i = 0; i < olds.size(); ++i) {
      if (olds[i].empty()) fs::create_directories(chain.destinations[i]);
      if (!olds[i].empty()) write(chain.destinations[i] + "/large", olds[i]);
    }
    chain.settings.sync.enabled = chain.settings.sync.mirror = true;
    chain.settings.delta = true;
    chain.settings.inplace = inplace;
    chain.settings.verify = GetParam();
    ChainResult result = Chain(chain, heard).run();
    EXPECT_TRUE(result.source.complete);
    for (const std::string& told : result.told) EXPECT_EQ(told, "");
    EXPECT_EQ(heard.text(), "");
    EXPECT_THAT(result.proven, Each(true));
    EXPECT_THAT(result.missing, Each(0u));
    for (const std::string& host : chain.destinations) EXPECT_EQ(content_of(host + "/large"), now) << host;
    return result;
  }

  const std::string now = test_bytes(kLarge, 7);
  bool inplace = false;
  ChainCase chain;
};

TEST_P(ChainDeltasTest, WhatAllHaveIsNotSent) {
  const std::string old = old_but(1'500'000);
  const ChainResult result = copy_over({old, old, old});
  EXPECT_EQ(result.source.kept_bytes, kLarge - kBlock);
  EXPECT_LT(result.source.wire_bytes, 4 * kBlock);
}

// Each of them takes blocks over that come as data nevertheless.
TEST_P(ChainDeltasTest, WhatOneOfThemLacksGoesToAll) {
  for (const bool in_place : {false, true}) {
    inplace = in_place;
    const ChainResult result = copy_over({old_but(100), old_but(1'000'000, 3 * kBlock), old_but(kLarge - 1)});
    EXPECT_GE(result.source.kept_bytes, kLarge - 6 * kBlock);
    EXPECT_LT(result.source.kept_bytes, kLarge - 4 * kBlock);
  }
}

TEST_P(ChainDeltasTest, OldFilesOfOtherSizesServeWhereTheyAreEqual) {
  const ChainResult result =
      copy_over({now.substr(0, 2'000'000), now + test_bytes(500'000, 3), now.substr(0, 2'500'000)});
  EXPECT_EQ(result.source.kept_bytes, 2'000'000 / kBlock * kBlock);
}

TEST_P(ChainDeltasTest, WhereOneHasNoneAllIsSent) {
  for (const std::size_t none : {0u, 1u, 2u}) {
    std::vector<std::string> olds(3, old_but(5));
    olds[none].clear();
    const ChainResult result = copy_over(olds);
    EXPECT_EQ(result.source.kept_bytes, 0u) << none;
    for (const std::string& host : chain.destinations) fs::remove_all(host);
  }
}

TEST_P(ChainDeltasTest, AnOldFileThatHasNothingInCommonIsNoHindrance) {
  const ChainResult result = copy_over({old_but(5), test_bytes(kLarge, 99), old_but(5)});
  EXPECT_EQ(result.source.kept_bytes, 0u);
}

// Only the last one's old file has something where there are holes now.
TEST_P(ChainDeltasTest, HolesAreWrittenOverWhatIsThere) {
  const std::size_t hole = 1 << 20;
  std::string sparse = now;
  std::fill_n(sparse.begin() + hole, hole, '\0');
  fs::remove(scratch / "from/large");
  write(scratch / "from/large", "");
  fs::resize_file(scratch / "from/large", kLarge);
  {
    std::ofstream file(scratch / "from/large", std::ios::in | std::ios::out | std::ios::binary);
    file.write(sparse.data(), hole);
    file.seekp(2 * hole);
    file.write(sparse.data() + 2 * hole, static_cast<std::streamsize>(kLarge - 2 * hole));
  }
  for (const bool in_place : {false, true}) {
    chain = chain_of(2);
    write(chain.destinations[0] + "/large", sparse.substr(0, kLarge - 1) + "!");
    write(chain.destinations[1] + "/large", now);
    chain.settings.sync.enabled = chain.settings.sync.mirror = chain.settings.delta = true;
    chain.settings.inplace = in_place;
    chain.settings.verify = GetParam();
    const ChainResult result = Chain(chain, heard).run();
    EXPECT_TRUE(result.source.complete);
    EXPECT_EQ(heard.text(), "");
    for (const std::string& host : chain.destinations)
      EXPECT_TRUE(content_of(host + "/large") == sparse) << host;
  }
}

INSTANTIATE_TEST_SUITE_P(Verify, ChainDeltasTest, testing::Bool());

}  // namespace
}  // namespace rdcp::tree
