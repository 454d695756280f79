#include "tree/handlers/mirror_pages.h"

#include <filesystem>

#include "tests/tree/handlers/handler_fixture.h"

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;
using net::AckStatus;
using net::FrameKind;

class MirrorPagesTest : public HandlerTest {
 protected:
  void start(bool deletes = false) {
    job.settings.sync.enabled = true;
    job.settings.sync.mirror = true;
    job.settings.sync.itemize = true;
    job.settings.sync.delete_extra = deletes;
    begin();
    session->changes.set_tell([this](const Changes& changes) {
      for (const Change& change : changes.list) told.push_back(change.path);
    });
    pages.emplace(*context);
  }
  AckStatus compare(const std::vector<Entry>& entries) {
    std::vector<std::byte> page(kHandlerChunk);
    QuestionWriter writer;
    writer.begin(page);
    for (const Entry& entry : entries) {
      Question question;
      question.entry = entry;
      EXPECT_TRUE(writer.add(question));
    }
    page.resize(writer.finish());
    return pages->compare(frame_for(FrameKind::compare, 0, 0), page, verdicts);
  }
  // Tells all names of a directory.
  AckStatus prune(const std::vector<std::string>& names, const std::string& directory = "") {
    std::vector<std::byte> page(kHandlerChunk);
    NamesWriter writer;
    EXPECT_TRUE(writer.begin_names(page, directory, 1, 0));
    for (const std::string& name : names) EXPECT_TRUE(writer.add(name));
    page.resize(writer.finish());
    return pages->prune(frame_for(FrameKind::names, 0, 0), page, verdicts);
  }
  // Tells the sum of a directory that has no names.
  AckStatus sum_up(const std::string& directory) {
    std::vector<std::byte> page(kHandlerChunk);
    NamesWriter writer;
    writer.begin_sums(page);
    EXPECT_TRUE(writer.add({.path = own(directory), .count = 0, .digest = NameSum().digest.value()}));
    page.resize(writer.finish());
    return pages->prune(frame_for(FrameKind::names, 0, 0), page, verdicts);
  }
  // A mirror by these rules, to which an earlier one has brought what they are about.
  void start_with(const std::vector<FilterRule>& rules, bool delete_excluded = false) {
    fs::create_directories(scratch / "cache/sub");
    write_file(scratch / "cache/keep", "k");
    write_file(scratch / "cache/sub/keep", "k");
    start(true);
    auto filter = Filter::create(rules, delete_excluded);
    ASSERT_TRUE(filter);
    session->guards.removals.begin(session->place.root.get(), std::move(*filter), "", 0, 0);
  }
  // As a copy would have left it.
  void put(const std::string& name, const std::string& content) {
    write_file(scratch / name, content);
    const timespec times[2] = {{1'600'000'000, 5}, {1'600'000'000, 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch / name).c_str(), times, 0), 0);
    ASSERT_EQ(::chmod((scratch / name).c_str(), 0644), 0);
  }
  Verdict verdict(std::size_t i) const { return static_cast<Verdict>(verdicts.at(i)); }

  std::optional<MirrorPages> pages;
  net::Verdicts verdicts;
  std::vector<std::string> told;
};

TEST_F(MirrorPagesTest, EachEntryIsJudged) {
  put("equal", "abc");
  put("longer", "abcdef");
  put("mode", "abc");
  start();
  Entry other_mode = file_entry("mode", 3);
  other_mode.mode = 0600;
  EXPECT_EQ(compare({file_entry("equal", 3), file_entry("longer", 3), other_mode, file_entry("missing", 3)}),
            AckStatus::done);
  EXPECT_EQ(verdict(0), Verdict::equal);
  EXPECT_EQ(verdict(1), Verdict::different);
  EXPECT_EQ(verdict(2), Verdict::metadata);
  EXPECT_EQ(verdict(3), Verdict::different);
  session->changes.finish();
  EXPECT_EQ(told, (std::vector<std::string>{"longer", "mode", "missing"}));
}

TEST_F(MirrorPagesTest, APageOfGarbageEndsTheRun) {
  start();
  const std::vector<std::byte> garbage(64, std::byte{0xee});
  EXPECT_EQ(pages->compare(frame_for(FrameKind::compare, 0, 0), garbage, verdicts), AckStatus::refused);
  EXPECT_TRUE(session->refusing());
}

TEST_F(MirrorPagesTest, ANameOutsideTheLandingsEndsTheRun) {
  start();
  session->guards.admitted = std::move(AdmittedNames::create({"here"})).value();
  EXPECT_EQ(compare({file_entry("there", 3)}), AckStatus::refused);
  EXPECT_TRUE(session->refusing());
}

TEST_F(MirrorPagesTest, NamesThatTheSourceLacksGo) {
  write_file(scratch / "keep", "k");
  write_file(scratch / "extra", "e");
  start(true);
  EXPECT_EQ(prune({"keep"}), AckStatus::done);
  EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"keep"}));
}

class ClosedDirectoryTest : public MirrorPagesTest, public testing::WithParamInterface<const char*> {};

// The rules hide it from a source that keeps them, so that would never name it.
TEST_P(ClosedDirectoryTest, NamesInItEndTheRun) {
  start_with({{.pattern = "/cache/"}});
  EXPECT_EQ(prune({}, GetParam()), AckStatus::refused);
  expect_protocol_error("names in a directory that a rule hides from it");
  EXPECT_TRUE(fs::exists(scratch / "cache/keep"));
  EXPECT_TRUE(fs::exists(scratch / "cache/sub/keep"));
}

TEST_P(ClosedDirectoryTest, ItsSumEndsTheRun) {
  start_with({{.pattern = "/cache/"}});
  EXPECT_EQ(sum_up(GetParam()), AckStatus::refused);
  expect_protocol_error("names in a directory that a rule hides from it");
}

INSTANTIATE_TEST_SUITE_P(, ClosedDirectoryTest, testing::Values("cache", "cache/sub"),
                         [](const auto& info) { return info.index == 0 ? "Itself" : "Deeper"; });

// "hide" at the source, "protect" at the target, though by two rules, one of which is for what lies deeper.
TEST_F(MirrorPagesTest, NamesInADirectoryThatTwoRulesProtectEndTheRun) {
  start_with({{.pattern = "/cache/", .sides = FilterSides::source},
              {.pattern = "/cache/sub/", .sides = FilterSides::target}});
  EXPECT_EQ(prune({}, "cache/sub"), AckStatus::refused);
  expect_protocol_error("names in a directory that a rule hides from it");
  EXPECT_TRUE(fs::exists(scratch / "cache/sub/keep"));
}

// A source enters what no rule hides from it, and nothing is kept of what is hidden but not protected.
TEST_F(MirrorPagesTest, NamesInADirectoryThatIsNotHiddenOrNotProtectedCount) {
  const FilterRule protects{.pattern = "/cache/", .sides = FilterSides::target};
  const FilterRule excludes{.pattern = "/cache/"};
  for (const auto& [rule, delete_excluded] : {std::pair(protects, false), std::pair(excludes, true)}) {
    start_with({rule}, delete_excluded);
    EXPECT_EQ(prune({"sub"}, "cache"), AckStatus::done);
    EXPECT_FALSE(fs::exists(scratch / "cache/keep"));
    EXPECT_TRUE(fs::exists(scratch / "cache/sub/keep"));
    EXPECT_EQ(heard.text(), "");
    TearDown();
  }
}

TEST_F(MirrorPagesTest, NothingMakesWayInAProtectedDirectory) {
  start_with({{.pattern = "/cache/"}});
  fs::create_directories(scratch / "open/sub");
  EXPECT_EQ(compare({file_entry("cache/sub", 3), file_entry("open/sub", 3)}), AckStatus::done);
  EXPECT_EQ(verdict(0), Verdict::refused);
  EXPECT_EQ(verdict(1), Verdict::different);
  EXPECT_NE(heard.text().find("DST/cache/sub: is in a directory that a rule protects"), std::string::npos)
      << heard.text();
}

TEST_F(MirrorPagesTest, ANameThatCannotGoIsReportedAndTheOthersGo) {
  write_file(scratch / "keep", "k");
  write_file(scratch / "extra", "e");
  fs::create_directories(scratch / "guarded");
  write_file(scratch / "guarded/precious", "p");
  job.settings.sync.max_delete = 1;
  start(true);
  prune({"keep"});
  // One of the two may go, and nothing is removed in part.
  EXPECT_TRUE(fs::exists(scratch / "keep"));
  EXPECT_EQ(fs::exists(scratch / "guarded"), fs::exists(scratch / "guarded/precious"));
  EXPECT_GT(session->guards.removals.skipped(), 0u);
}

}  // namespace
}  // namespace rdcp::tree
