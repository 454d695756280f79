#include "tree/fs/own_names.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace rdcp::tree {
namespace {

TEST(TemporaryName, HoldsTheFinalName) {
  const std::string name = temporary_name("model.bin");
  EXPECT_EQ(name.substr(0, name.size() - 8), ".model.bin.rdcp-");
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef", name.size() - 8), std::string::npos);
}

// Otherwise --clean would not find it.
TEST(TemporaryName, IsKnownAsOursWhateverTheFinalName) {
  const std::string hash(32, 'a');
  for (const std::string& name : {std::string("f"), "rdcp-" + hash, "rdcp-" + hash + ".part", "." + hash,
                                  std::string("f.rdcp-01234567"), std::string(255, 'n')}) {
    EXPECT_EQ(own_name(temporary_name(name)), OwnName::temporary) << name;
  }
}

TEST(TemporaryName, DiffersEachTime) {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) names.insert(temporary_name("f"));
  EXPECT_GT(names.size(), 95u);
}

TEST(TemporaryName, NeverExceedsNameMax) {
  for (const std::size_t length : {239u, 240u, 241u, 255u}) {
    EXPECT_LE(temporary_name(std::string(length, 'n')).size(), 255u);
  }
  EXPECT_EQ(temporary_name(std::string(255, 'n')).size(), 255u);
}

TEST(TemporaryName, IsNotCutWithinACharacter) {
  std::string name(239, 'n');
  name += "\xF0\x9F\x98\x80 tail";  // four bytes, of which one would fit
  EXPECT_EQ(temporary_name(name).substr(0, 246), "." + std::string(239, 'n') + ".rdcp-");
}

TEST(TemporaryName, TriesAnotherOneWhereItIsTaken) {
  int tries = 0;
  const std::string name = take_temporary_name("f", [&](const char*) {
    errno = EEXIST;
    return ++tries < 3 ? -1 : 0;
  });
  EXPECT_EQ(tries, 3);
  EXPECT_FALSE(name.empty());
}

TEST(TemporaryName, GivesUpOnOtherErrors) {
  int tries = 0;
  const std::string name = take_temporary_name("f", [&](const char*) {
    errno = ENOSPC;
    return ++tries, -1;
  });
  EXPECT_EQ(tries, 1);
  EXPECT_TRUE(name.empty());
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace rdcp::tree
