#include "tree/pages/compare.h"
#include "tests/tree/meta/own_path.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "net/stream/frame.h"

namespace rdcp::tree {
namespace {

Question file(const std::string& path) {
  Question question;
  question.entry.path = own(path);
  question.entry.mode = 04755;
  question.entry.uid = 7;
  question.entry.gid = 8;
  question.entry.user = "ann";
  question.entry.group = "staff";
  question.entry.mtime = {-5, 999'999'999};
  question.entry.size = 1ull << 40;
  return question;
}

Question link(EntryType type, const std::string& path, const std::string& target) {
  Question question = file(path);
  question.entry.type = type;
  question.entry.size = 0;
  if (type == EntryType::hard_link) {
    question.entry.first_name = own(target);
  } else {
    question.entry.link_target = target;
  }
  return question;
}

class Compare : public ::testing::Test {
 protected:
  std::span<const std::byte> page_of(const std::vector<Question>& questions) {
    QuestionWriter writer;
    writer.begin(slot_);
    for (const Question& question : questions) EXPECT_TRUE(writer.add(question));
    return std::span(slot_).first(writer.finish());
  }
  // The questions of a page, or none where it is refused.
  static std::vector<Question> read(std::span<const std::byte> page) {
    const AdmittedNames admitted = AdmittedNames::all();
    QuestionReader reader(admitted);
    std::vector<Question> questions;
    Question question;
    if (!reader.open(page)) return {};
    for (;;) {
      const auto more = reader.next(question);
      if (!more) return {};
      if (!*more) return questions;
      questions.push_back(question);
    }
  }
  std::array<std::byte, 64 << 10> slot_;
};

void expect_same(const Question& a, const Question& b) {
  EXPECT_EQ(a.entry, b.entry);
  EXPECT_EQ(a.xattrs, b.xattrs);
  EXPECT_EQ(a.content, b.content);
  EXPECT_EQ(a.first_changes, b.first_changes);
}

TEST_F(Compare, QuestionsComeBackAsTheyWere) {
  std::vector<Question> questions{file("a/b/one"), file("a/b/other"), file("a"),
                                  link(EntryType::symlink, "a/l", "\x01 any bytes"),
                                  link(EntryType::hard_link, "a/h", "a/b/one")};
  questions[1].content = io::digest_of(std::as_bytes(std::span("x")));
  questions[1].entry.user = "bob";
  questions[2].xattrs = *questions[1].content;
  questions[2].entry.access_acl = {{AclLine::Tag::user_obj, 7, 0, ""}, {AclLine::Tag::user, 5, 3, "eve"}};
  questions[2].entry.type = EntryType::directory;
  questions[2].entry.size = 0;
  questions[4].first_changes = true;
  questions[4].linked = EntryType::fifo;
  Question root = file("");
  root.entry.type = EntryType::directory;
  root.entry.size = 0;
  questions.push_back(root);
  Question node = file("n");
  node.entry.type = EntryType::char_device;
  node.entry.size = 0;
  node.entry.device = 0x103;
  questions.push_back(node);
  const auto back = read(page_of(questions));
  ASSERT_EQ(back.size(), questions.size());
  for (std::size_t i = 0; i < back.size(); ++i) expect_same(back[i], questions[i]);
  EXPECT_EQ(back[4].linked, EntryType::fifo);
}

TEST_F(Compare, APageTakesWhatFitsAndNoMoreThanThereAreVerdicts) {
  QuestionWriter writer;
  writer.begin(slot_);
  for (std::size_t i = 0; i < net::Verdicts::kCount; ++i) ASSERT_TRUE(writer.add(file(std::to_string(i))));
  EXPECT_FALSE(writer.add(file("one more")));
  EXPECT_EQ(read(std::span(slot_).first(writer.finish())).size(), net::Verdicts::kCount);

  writer.begin(std::span(slot_).first(200));
  std::size_t fitting = 0;
  while (writer.add(file("name" + std::to_string(fitting)))) ++fitting;
  EXPECT_GT(fitting, 1u);
  EXPECT_LT(fitting, 6u);
  EXPECT_EQ(read(std::span(slot_).first(writer.finish())).size(), fitting);
}

TEST_F(Compare, APathBeyondTheBoundIsNotAsked) {
  std::vector<std::byte> slot(1 << 20);
  QuestionWriter writer;
  writer.begin(slot);
  EXPECT_FALSE(writer.add(file(std::string(kQuestionPathMax + 1, 'x'))));
  EXPECT_TRUE(writer.add(file(std::string(kQuestionPathMax, 'x'))));
}

TEST_F(Compare, EveryTruncationIsRefused) {
  Question last = link(EntryType::symlink, "b", "target");
  last.entry.access_acl = {{AclLine::Tag::user, 5, 3, "eve"}};
  const auto page = page_of({file("a"), last});
  for (std::size_t length = 0; length < page.size(); ++length) {
    EXPECT_TRUE(read(page.first(length)).empty()) << length;
  }
  EXPECT_EQ(read(page).size(), 2u);
}

TEST_F(Compare, UnsafePathsAndImpossibleValuesAreRefused) {
  for (const char* path : {"/a", "a/../b", "a//b", "..", ""}) {
    EXPECT_TRUE(read(page_of({file(path)})).empty()) << path;
  }
  EXPECT_TRUE(read(page_of({link(EntryType::hard_link, "a", "../b")})).empty());
  EXPECT_TRUE(read(page_of({link(EntryType::symlink, "a", "")})).empty());
  EXPECT_TRUE(read(page_of({link(EntryType::symlink, "a", std::string("x\0y", 3))})).empty());
  Question late = file("a");
  late.entry.mtime.nanoseconds = 1'000'000'000;
  EXPECT_TRUE(read(page_of({late})).empty());
  Question nobody = file("a");
  nobody.entry.uid = ~0u;
  EXPECT_TRUE(read(page_of({nobody})).empty());
  Question moved = file("a");
  moved.first_changes = true;
  EXPECT_TRUE(read(page_of({moved})).empty());
}

TEST_F(Compare, ABitThatFlipsIsRefusedOrIsAnotherQuestionButNeverHarm) {
  const auto page = page_of({file("a/b"), link(EntryType::hard_link, "a/h", "a/b")});
  const std::vector<std::byte> good(page.begin(), page.end());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    for (const Question& question : read(bad)) EXPECT_TRUE(is_safe_path(question.entry.path));
  }
}

TEST_F(Compare, XattrsDigestIsOfTheirSetAndNotOfTheirOrder) {
  Entry one, other;
  one.xattrs = {{"user.a", "1"}, {"user.b", "2"}};
  other.xattrs = {{"user.b", "2"}, {"user.a", "1"}};
  EXPECT_EQ(digest_of_xattrs(one), digest_of_xattrs(other));
  other.xattrs[0].value = "3";
  EXPECT_NE(digest_of_xattrs(one), digest_of_xattrs(other));
  EXPECT_EQ(digest_of_xattrs(Entry()), io::Digest{});
}

}  // namespace
}  // namespace rdcp::tree
