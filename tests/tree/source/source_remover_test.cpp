#include "tree/source/source_remover.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>

#include "tests/tree/heard.h"
#include "tests/tree/scratch_directory.h"
#include "tree/walk/stability.h"

namespace rdcp::tree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct SourceRemoverTest : testing::Test {
  SourceRemoverTest() {
    root.fd.reset(::open(here.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    root.given = "SRC";
    top = std::make_shared<DirectoryTracker>(root);
    for (const char* name : {"a", "b"}) write_file(here / name, "content");
  }
  Item item(const std::string& name) {
    Item item;
    item.directory = top;
    item.name = name;
    item.status = status_of(here / name);
    return item;
  }

  ScratchDirectory here;
  Heard heard;
  Root root;
  DirectoryRef top;
  SourceRemover remover{true, heard.reporter};
};

TEST_F(SourceRemoverTest, WhatIsAsItWasSeenGoes) {
  const Item a = item("a");
  remover.remove(a, a.status);
  EXPECT_THAT(names_in(here.path()), ElementsAre("b"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(SourceRemoverTest, WhatHasChangedStays) {
  const Item a = item("a");
  write_file(here / "a", "other content");
  remover.remove(a, a.status);
  const Item b = item("b");
  ASSERT_EQ(::unlinkat(here.fd(), "b", 0), 0);
  write_file(here / "b", "content");  // of the same size, but another file
  remover.remove(b, b.status);
  EXPECT_THAT(names_in(here.path()), ElementsAre("a", "b"));
  EXPECT_THAT(heard.text(), HasSubstr("SRC/a: it has changed since"));
  EXPECT_THAT(heard.text(), HasSubstr("SRC/b: it has changed since"));
}

TEST_F(SourceRemoverTest, AllNamesOfAFileGo) {
  ASSERT_EQ(::linkat(here.fd(), "a", here.fd(), "c", 0), 0);
  const Item a = item("a");
  Item c = item("c");
  c.kind = Item::Kind::hard_link;
  remover.remove(a, a.status);
  remover.remove(c, c.status);
  EXPECT_THAT(names_in(here.path()), ElementsAre("b"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(SourceRemoverTest, AFileWithSeveralNamesThatWasWrittenStays) {
  ASSERT_EQ(::linkat(here.fd(), "a", here.fd(), "c", 0), 0);
  const Item a = item("a");
  wait_for_next_tick(a.status);
  write_file(here / "a", "CONTENT");
  const timespec times[2] = {a.status.st_atim, a.status.st_mtim};
  ASSERT_EQ(::utimensat(here.fd(), "a", times, 0), 0);
  remover.remove(a, a.status);
  EXPECT_THAT(names_in(here.path()), ElementsAre("a", "b", "c"));
}

TEST_F(SourceRemoverTest, OfABatchOnlyWhatWasSentInTheLastChunkGoes) {
  for (const char* name : {"equal", "metadata", "skipped", "later"}) write_file(here / name, "");
  ::mkdirat(here.fd(), "directory", 0700);
  Batch batch;
  for (const char* name : {"a", "b", "equal", "metadata", "skipped", "later"})
    batch.items.push_back(item(name));
  batch.items[2].verdict = Verdict::equal;
  batch.items[3].verdict = Verdict::metadata;
  batch.items[4].skipped = true;
  Item finish;
  finish.kind = Item::Kind::finish;
  finish.directory = top;
  batch.items.insert(batch.items.begin() + 5, finish);
  batch.settled = 1;
  batch.next = 6;
  remover.remove_packed(batch);
  EXPECT_THAT(names_in(here.path()), ElementsAre("a", "directory", "equal", "later", "metadata", "skipped"));
  EXPECT_EQ(heard.text(), "");
}

TEST_F(SourceRemoverTest, NothingGoesUnlessItIsWanted) {
  SourceRemover idle(false, heard.reporter);
  const Item a = item("a");
  idle.remove(a, a.status);
  Batch batch;
  batch.items.push_back(a);
  batch.next = 1;
  idle.remove_packed(batch);
  EXPECT_THAT(names_in(here.path()), ElementsAre("a", "b"));
}

TEST_F(SourceRemoverTest, WhatIsGoneIsReported) {
  const Item a = item("a");
  ASSERT_EQ(::unlinkat(here.fd(), "a", 0), 0);
  remover.remove(a, a.status);
  EXPECT_THAT(heard.text(), HasSubstr("SRC/a: No such file"));
}

}  // namespace
}  // namespace rdcp::tree
