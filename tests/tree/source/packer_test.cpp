// Small files in archive chunks.
#include "tests/tree/source/task_fixture.h"

namespace rdcp::tree {
namespace {

struct PackerTest : TaskTest {
  PackerTest() { begin(); }
  FilledSlot pack(Batch& batch) {
    FilledSlot filled;
    filled.length = context->packer.pack(batch, slot());
    return filled;
  }
  Item finish(const DirectoryRef& directory) {
    Item item;
    item.kind = Item::Kind::finish;
    item.directory = directory;
    return item;
  }
};

TEST_F(PackerTest, CountsWhatItPacked) {
  std::filesystem::create_symlink("nowhere", scratch / "link");
  Entry metadata;
  metadata.mode = 0755;
  top->set_metadata(metadata);
  Item link = item("link");
  link.link_target = "nowhere";
  Batch batch = batch_of({file("a", "12345"), link, finish(top)});
  EXPECT_EQ(archived(pack(batch)).size(), 3u);
  EXPECT_EQ(context->packer.packed().files, 1u);
  EXPECT_EQ(context->packer.packed().others, 1u);
  EXPECT_EQ(context->packer.packed().directories, 1u);
  EXPECT_EQ(context->packer.packed().content_bytes, 5u);
  EXPECT_EQ(batch.next, 3u);
}

TEST_F(PackerTest, AFileThatGrewGoesAloneAndItsDirectoryWaits) {
  const Item grown = file("grown", "small");
  Batch batch = batch_of({grown, finish(top)});
  write_file(scratch / "grown", std::string(100'000, 'x'));
  EXPECT_EQ(pack(batch).length, 0u) << "the finish must not come before the file";
  EXPECT_EQ(std::get<OpenTask>(take()).file->item().name, "grown");
  EXPECT_EQ(batch.items[1].kind, Item::Kind::listed);
  EXPECT_EQ(problems(), "");
}

TEST_F(PackerTest, TheFinishesAboveAreKeptBackToo) {
  const auto inner = std::make_shared<DirectoryTracker>(top, "inner", DirectoryScope{});
  std::filesystem::create_directory(scratch / "inner");
  write_file(scratch / "inner/grown", "small");
  Item grown;
  grown.directory = inner;
  grown.name = "grown";
  grown.status = status_of(scratch / "inner/grown");
  write_file(scratch / "inner/grown", std::string(100'000, 'x'));
  Batch batch = batch_of({grown, finish(inner), finish(top)});
  EXPECT_EQ(pack(batch).length, 0u);
  EXPECT_EQ(batch.items[2].kind, Item::Kind::listed);
}

TEST_F(PackerTest, ContentIsNotSentOfWhatDiffersInMetadataOnly) {
  Item same = file("same", "content");
  same.verdict = Verdict::metadata;
  Batch batch = batch_of({same});
  EXPECT_EQ(archived(pack(batch)), (std::map<std::string, std::string>{{"dst/same", ""}}));
  EXPECT_TRUE(entry.attributes_only);
}

TEST_F(PackerTest, WhatChangedSinceItWasComparedIsSentWhole) {
  Item was = file("was", "content");
  was.verdict = Verdict::metadata;
  write_file(scratch / "was", "other content");
  Batch batch = batch_of({was});
  EXPECT_EQ(pack(batch).length, 0u);
  EXPECT_EQ(std::get<OpenTask>(take()).file->item().name, "was");
}

TEST_F(PackerTest, ANameWhoseFileFailedLeavesItsPlaceToTheNext) {
  Item first = file("first", "x");
  std::filesystem::create_hard_link(scratch / "first", scratch / "second");
  first.status = status_of(scratch / "first");
  ASSERT_TRUE(session->plan().linked().is_first(first));
  Item second = item("second");
  second.kind = Item::Kind::hard_link;
  session->plan().linked().add(second);
  std::filesystem::remove(scratch / "first");
  Batch batch = batch_of({first});
  EXPECT_EQ(pack(batch).length, 0u);
  const std::vector<Item> next = session->plan().linked().next_round();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].kind, Item::Kind::entry);
}

TEST_F(PackerTest, HolesOfSmallFilesStayHoles) {
  const io::Fd fd(::open((scratch / "holes").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(fd.get(), 12'288), 0);
  if (status_of(scratch / "holes").st_blocks != 0) GTEST_SKIP() << "no holes here";
  Batch batch = batch_of({item("holes")});
  EXPECT_EQ(archived(pack(batch)).size(), 1u);
  EXPECT_EQ(entry.size, 12'288u);
  EXPECT_FALSE(entry.data.empty());
}

TEST_F(PackerTest, LinesOfAListAreMadeOnlyIfTheyAreWanted) {
  Batch first = batch_of({file("a", "1")});
  pack(first);
  EXPECT_TRUE(context->packer.packed().sums.empty());
  context->packer.want_sums();
  Batch second = batch_of({file("b", "2")});
  pack(second);
  ASSERT_EQ(context->packer.packed().sums.size(), 1u);
  EXPECT_EQ(context->packer.packed().sums[0].path, "dst/b");
}

}  // namespace
}  // namespace rdcp::tree
