// Questions about what the target has.
#include "tests/tree/source/task_fixture.h"

namespace rdcp::tree {
namespace {

struct CompareRequesterTest : TaskTest {
  CompareRequesterTest() { job.settings.sync.enabled = true; }
  std::vector<Question> ask(Batch& batch) {
    const std::size_t length = context->requester.ask(batch, slot());
    std::vector<Question> questions;
    if (length == 0) return questions;
    const AdmittedNames all = AdmittedNames::all();
    QuestionReader reader(all);
    EXPECT_TRUE(reader.open(slot().first(length)));
    Question question;
    while (*reader.next(question)) questions.push_back(question);
    return questions;
  }
  void take(Batch& batch, std::initializer_list<Verdict> verdicts) {
    net::Verdicts all;
    std::size_t at = 0;
    for (const Verdict verdict : verdicts) all.set(at++, static_cast<std::uint8_t>(verdict));
    context->requester.take(batch, all);
  }
  // The directory's own metadata, to be compared before what is in it.
  Item entered(const DirectoryRef& directory) {
    directory->add_comparison();
    Item item;
    item.kind = Item::Kind::enter;
    item.directory = directory;
    return item;
  }
};

TEST_F(CompareRequesterTest, AFileIsAskedAboutWithoutItsContent) {
  begin();
  Batch batch = batch_of({file("a", "content")});
  const auto questions = ask(batch);
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].entry.path, "dst/a");
  EXPECT_EQ(questions[0].entry.size, 7u);
  EXPECT_FALSE(questions[0].content);
}

TEST_F(CompareRequesterTest, WithChecksumSmallFilesAreAskedAboutByDigest) {
  job.settings.sync.checksum = job.settings.checksum = true;
  begin();
  const std::string large(100'000, 'x');
  Batch batch = batch_of({file("small", "content"), file("large", large)});
  const auto questions = ask(batch);
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_TRUE(questions[0].content);
  EXPECT_FALSE(questions[1].content) << "it is compared when it is open, by both sides at once";
}

TEST_F(CompareRequesterTest, AFileThatCannotBeDigestedIsLeftToThePacker) {
  job.settings.sync.checksum = job.settings.checksum = true;
  begin();
  const Item gone = file("gone", "x");
  std::filesystem::remove(scratch / "gone");
  Batch batch = batch_of({gone});
  EXPECT_TRUE(ask(batch).empty());
  take(batch, {});
  EXPECT_FALSE(batch.items[0].skipped) << "who meets it again, and tells";
  EXPECT_FALSE(batch.to_compare());
}

TEST_F(CompareRequesterTest, EqualIsDiscountedAndDifferentIsSent) {
  begin();
  session->plan().count(4, 10);
  Batch batch = batch_of({file("e", "1"), file("m", "22"), file("d", "333"), file("r", "4444")});
  ask(batch);
  take(batch, {Verdict::equal, Verdict::metadata, Verdict::different, Verdict::refused});
  EXPECT_TRUE(batch.items[0].skipped);
  EXPECT_FALSE(batch.items[1].skipped) << "its metadata are sent";
  EXPECT_FALSE(batch.items[2].skipped);
  EXPECT_TRUE(batch.items[3].skipped);
  EXPECT_EQ(session->plan().totals().files, 1u);
  EXPECT_EQ(session->plan().totals().bytes, 3u);
  EXPECT_TRUE(CompareRequester::has_work(batch));
}

TEST_F(CompareRequesterTest, ADirectoryIsFinishedOnlyIfSomethingInItChanges) {
  begin();
  Batch equal = batch_of({entered(top), file("a", "1")});
  ask(equal);
  take(equal, {Verdict::equal, Verdict::equal});
  EXPECT_FALSE(top->is_changed());
  EXPECT_FALSE(CompareRequester::has_work(equal));
  Batch other = batch_of({file("b", "1")});
  ask(other);
  take(other, {Verdict::different});
  EXPECT_TRUE(top->is_changed());
}

TEST_F(CompareRequesterTest, AMissingDirectoryChangesTheOneAboveIt) {
  begin();
  (void)entered(top);
  const auto inner = std::make_shared<DirectoryTracker>(top, "inner", DirectoryScope{});
  Batch batch = batch_of({entered(inner)});
  const auto questions = ask(batch);
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].entry.path, "dst/inner");
  EXPECT_EQ(questions[0].entry.type, EntryType::directory);
  take(batch, {Verdict::different});
  EXPECT_TRUE(inner->is_changed());
  EXPECT_TRUE(top->is_changed());
}

TEST_F(CompareRequesterTest, OtherMetadataOfADirectoryAreItsOwnMatter) {
  begin();
  (void)entered(top);
  const auto inner = std::make_shared<DirectoryTracker>(top, "inner", DirectoryScope{});
  Batch batch = batch_of({entered(inner)});
  ask(batch);
  take(batch, {Verdict::metadata});
  EXPECT_TRUE(inner->is_changed());
  EXPECT_FALSE(top->is_changed());
}

TEST_F(CompareRequesterTest, ADryRunChangesNothing) {
  job.settings.sync.dry_run = true;
  begin();
  Batch batch = batch_of({entered(top), file("a", "1")});
  ask(batch);
  take(batch, {Verdict::different, Verdict::different});
  EXPECT_FALSE(top->is_changed());
  EXPECT_FALSE(CompareRequester::has_work(batch));
}

}  // namespace
}  // namespace rdcp::tree
