// Lists of digests: their lines and their files.
#include "tree/check/sums.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "tests/tree/scratch_directory.h"
#include "tests/tree/sum_lines.h"
#include "tree/check/sum_file.h"

namespace rdcp::tree {
namespace {

bool same(const SumLine& a, const SumLine& b) {
  return a.type == b.type && a.path == b.path && a.size == b.size && a.mtime == b.mtime &&
         a.mtime_ns == b.mtime_ns && a.digest == b.digest;
}

TEST(SumLine, IsWhatXxh128sumPrints) {
  EXPECT_EQ(text_of(file_line("plain", "a"), SumForm::xxhsum), "a96faf705af16834e6c632b61e964e1f  plain\n");
  EXPECT_EQ(text_of(file_line("a\\b", "a"), SumForm::xxhsum), "a96faf705af16834e6c632b61e964e1f  a\\b\n");
  EXPECT_EQ(text_of(file_line("a\n\\b", "a"), SumForm::xxhsum),
            "\\a96faf705af16834e6c632b61e964e1f  a\\n\\\\b\n");
  SumLine directory;
  directory.type = EntryType::directory;
  EXPECT_EQ(text_of(directory, SumForm::xxhsum), "");
  EXPECT_EQ(text_of(file_line("", "a"), SumForm::xxhsum), "a96faf705af16834e6c632b61e964e1f  .\n");
}

TEST(SumLine, OfAManifest) {
  EXPECT_EQ(text_of(file_line("d/a\n\\b", "a"), SumForm::manifest),
            "f 1 1700000000.000000005 a96faf705af16834e6c632b61e964e1f d/a\\n\\\\b\n");
  SumLine top;
  top.type = EntryType::directory;
  top.mtime = -7;
  EXPECT_EQ(text_of(top, SumForm::manifest), "d - -7.000000000 - .\n");
}

TEST(SumLine, WhatWasWrittenIsRead) {
  std::mt19937 random(3);
  const std::string_view bytes("ab\\\n\r\x01\x7f\xff \t.-*", 13);
  for (int round = 0; round < 2000; ++round) {
    std::string path;
    for (unsigned i = 1 + random() % 8; i > 0; --i) path += bytes[random() % bytes.size()];
    if (!is_safe_path(path)) continue;
    SumLine line = file_line(path, std::to_string(round));
    line.mtime = static_cast<std::int64_t>(random()) - (1ll << 31);
    for (const SumForm form : {SumForm::manifest, SumForm::xxhsum}) {
      const std::string text = text_of(line, form);
      ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
      const auto read = parse_sum_line(std::string_view(text).substr(0, text.size() - 1), form);
      ASSERT_TRUE(read.ok()) << text << read.error().message();
      EXPECT_EQ(read->path, path);
      EXPECT_EQ(read->digest, line.digest);
      EXPECT_TRUE(form == SumForm::xxhsum || same(*read, line)) << text;
    }
  }
}

TEST(SumLine, GarbageIsRefusedAndNotRepeated) {
  const std::string digest(32, '0');
  const std::string good = "f 1 1.000000000 " + digest + " secret";
  ASSERT_TRUE(parse_sum_line(good, SumForm::manifest).ok());
  for (std::size_t cut = 0; cut < good.size() - 5; ++cut) {
    const auto read = parse_sum_line(good.substr(0, cut), SumForm::manifest);
    EXPECT_FALSE(read.ok()) << cut;
  }
  std::mt19937 random(4);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (unsigned i = 1 + random() % 3; i > 0; --i)
      text[random() % text.size()] = static_cast<char>(random());
    for (const SumForm form : {SumForm::manifest, SumForm::xxhsum}) {
      const auto read = parse_sum_line(text, form);
      if (read.ok()) {
        EXPECT_TRUE(read->path.empty() || is_safe_path(read->path)) << text;
      } else {
        EXPECT_EQ(read.error().message().find("secret"), std::string::npos);
      }
    }
  }
}

struct SumFile : testing::Test {
  ScratchDirectory scratch;
};

TEST_F(SumFile, HasItsNameWhenItIsWhole) {
  const std::string path = scratch / "list";
  write_file(path, "old");
  {
    auto writer = SumWriter::open(path, SumForm::manifest, 0640);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->add(file_line("a", "x")).ok());
    EXPECT_EQ(content_of(path), "old");
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(names_in(scratch / "").size(), 1u);
  auto writer = SumWriter::open(path, SumForm::manifest, 0640);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(writer->add(file_line("f" + std::to_string(i), std::to_string(i))).ok());
  }
  ASSERT_TRUE(writer->publish().ok());
  EXPECT_EQ(names_in(scratch / "").size(), 1u);
  auto reader = SumReader::open(path, SumForm::manifest);
  ASSERT_TRUE(reader.ok());
  SumLine line;
  for (int i = 0; i < 3000; ++i) {
    const auto read = reader->next(line);
    ASSERT_TRUE(read.ok() && *read);
    EXPECT_TRUE(same(line, file_line("f" + std::to_string(i), std::to_string(i))));
  }
  const auto end = reader->next(line);
  EXPECT_TRUE(end.ok() && !*end);
}

TEST_F(SumFile, SymlinksOfOursAreFollowedToRead) {
  write_file(scratch / "real", "rdcp-manifest 1\n");
  ASSERT_EQ(::mkdir((scratch / "d").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("../real", (scratch / "d/link").c_str()), 0);
  ASSERT_EQ(::symlink("d", (scratch / "e").c_str()), 0);
  ASSERT_EQ(::symlink("loop", (scratch / "loop").c_str()), 0);
  EXPECT_TRUE(SumReader::open(scratch / "e/link", SumForm::manifest).ok());
  EXPECT_TRUE(SumReader::open(scratch / "e/../real", SumForm::manifest).ok());
  EXPECT_EQ(SumReader::open(scratch / "loop", SumForm::manifest).error().code, ELOOP);
  EXPECT_FALSE(SumReader::open(scratch / "d", SumForm::manifest).ok());
  EXPECT_FALSE(SumReader::open(scratch / "none", SumForm::manifest).ok());
  EXPECT_FALSE(SumReader::open("", SumForm::manifest).ok());
}

}  // namespace
}  // namespace rdcp::tree
