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
  // Tells all names of the root.
  AckStatus prune(const std::vector<std::string>& names) {
    std::vector<std::byte> page(kHandlerChunk);
    NamesWriter writer;
    EXPECT_TRUE(writer.begin_names(page, "", 1, 0));
    for (const std::string& name : names) EXPECT_TRUE(writer.add(name));
    page.resize(writer.finish());
    return pages->prune(frame_for(FrameKind::names, 0, 0), page, verdicts);
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
