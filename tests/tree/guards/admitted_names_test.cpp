// A source names only what lies at or beneath the landings that the coordinator told the target.
#include "tree/guards/admitted_names.h"

#include <sys/stat.h>

#include <map>
#include <type_traits>

#include "tests/tree/meta/own_path.h"
#include "tests/tree/target/hostile_fixture.h"
#include "tree/pages/compare.h"
#include "tree/pages/names_page.h"

namespace rdcp::tree {
namespace {

using net::FrameKind;

// Bytes become a path through the guard alone.
static_assert(!std::is_constructible_v<EntryPath, std::string>);
static_assert(!std::is_constructible_v<EntryPath, const char*>);
static_assert(!std::is_assignable_v<EntryPath&, std::string>);
static_assert(!std::is_assignable_v<EntryPath&, std::string_view>);
static_assert(!std::is_constructible_v<EntryPathView, std::string_view>);
static_assert(!std::is_constructible_v<EntryPathView, std::string>);

bool admits(const AdmittedNames& names, std::string_view bytes) {
  EntryPath path = own("before");
  const bool admitted = names.admit(bytes, path) == nullptr;
  EXPECT_EQ(path.text(), admitted ? bytes : "") << bytes;
  return admitted;
}

TEST(AdmittedNames, WhatLiesAtOrBeneathALanding) {
  const auto names = AdmittedNames::create({"new", "other"});
  ASSERT_TRUE(names.ok());
  for (const char* path : {"new", "new/a", "new/a/b", "other", "other/new"}) {
    EXPECT_TRUE(admits(*names, path)) << path;
  }
  for (const char* path : {"", "newer", "newer/a", "ne", "a/new", "new/", "new/../x", "/new", "..", "."}) {
    EXPECT_FALSE(admits(*names, path)) << path;
  }
}

TEST(AdmittedNames, AnEmptyLandingIsTheRoot) {
  const auto names = AdmittedNames::create({""});
  ASSERT_TRUE(names.ok());
  for (const char* path : {"", "a", "a/b"}) EXPECT_TRUE(admits(*names, path)) << path;
  for (const char* path : {"..", "/a", "a/../b"}) EXPECT_FALSE(admits(*names, path)) << path;
}

TEST(AdmittedNames, WithoutALandingNothingIs) {
  const auto names = AdmittedNames::create({});
  ASSERT_TRUE(names.ok());
  for (const char* path : {"", "a"}) EXPECT_FALSE(admits(*names, path)) << path;
}

TEST(AdmittedNames, ALandingIsASingleName) {
  for (const std::string& landing :
       {std::string(".."), std::string("."), std::string("/"), std::string("a/b"), std::string("../a"),
        std::string("a/"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(AdmittedNames::create({landing}).ok()) << landing;
  }
}

Entry entry_of(EntryType type, const std::string& path, const std::string& link = "") {
  Entry entry;
  entry.type = type;
  entry.path = own(path);
  entry.mode = 0777;
  if (type == EntryType::hard_link) entry.first_name = own(link);
  if (type == EntryType::symlink) entry.link_target = link;
  return entry;
}

std::vector<std::byte> archive_of(const Entry& entry) {
  std::vector<std::byte> slot(kChunk);
  ArchiveWriter writer;
  writer.begin(slot);
  EXPECT_TRUE(writer.add(entry, {}).value());
  slot.resize(writer.finish().value());
  return slot;
}

std::vector<std::byte> question_of(Entry entry) {
  std::vector<std::byte> slot(kChunk);
  QuestionWriter writer;
  writer.begin(slot);
  Question question;
  question.entry = std::move(entry);
  EXPECT_TRUE(writer.add(question));
  slot.resize(writer.finish());
  return slot;
}

Sent open_of(const std::string& path) {
  Sent open = frame_of(FrameKind::open, archive_of(entry_of(EntryType::file, path)));
  open.frame.file_id = 1;
  return open;
}

std::vector<std::byte> sums_of(const std::string& path) {
  std::vector<std::byte> slot(kChunk);
  NamesWriter writer;
  writer.begin_sums(slot);
  EXPECT_TRUE(writer.add(SummedDirectory{own(path), 0, {}}));
  slot.resize(writer.finish());
  return slot;
}

std::vector<std::byte> no_names_in(const std::string& path) {
  std::vector<std::byte> slot(kChunk);
  NamesWriter writer;
  EXPECT_TRUE(writer.begin_names(slot, path, 1, 0));
  slot.resize(writer.finish());
  return slot;
}

// Every frame that has a name, by what it would do with that name.
std::map<std::string, std::vector<Sent>> frames_that_name(const std::string& path) {
  const auto archive = [](Entry entry) {
    return std::vector{frame_of(FrameKind::archive, archive_of(std::move(entry)))};
  };
  std::map<std::string, std::vector<Sent>> frames;
  frames["finish"] = archive(entry_of(EntryType::directory, path));
  frames["compare"] = {frame_of(FrameKind::compare, question_of(entry_of(EntryType::directory, path)))};
  frames["sums"] = {frame_of(FrameKind::names, sums_of(path))};
  frames["names"] = {frame_of(FrameKind::names, no_names_in(path))};
  if (path.empty()) return frames;
  Entry attributes = entry_of(EntryType::file, path);
  attributes.attributes_only = true;
  frames["attributes"] = archive(attributes);
  frames["file"] = archive(entry_of(EntryType::file, path));
  frames["symlink"] = archive(entry_of(EntryType::symlink, path, "/etc"));
  frames["fifo"] = archive(entry_of(EntryType::fifo, path));
  frames["hard link"] = archive(entry_of(EntryType::hard_link, path, "new/mine"));
  frames["linked"] = archive(entry_of(EntryType::hard_link, "new/link", path));
  frames["compare linked"] = {
      frame_of(FrameKind::compare, question_of(entry_of(EntryType::hard_link, "new/link", path)))};
  frames["open"] = {open_of(path)};
  Sent commit = frame_of(FrameKind::commit, archive_of(entry_of(EntryType::file, path)));
  commit.frame.file_id = 1;
  frames["commit"] = {open_of("new/mine"), commit};
  return frames;
}

struct DestinationMappingTest : HostileTest {
  DestinationMappingTest() {
    settings.sync.enabled = settings.sync.mirror = settings.sync.delete_extra = true;
    landings = {"new"};  // as where DST is missing, its parent being the root
    for (const char* directory : {"root/other", "root/newer", "root/new"}) {
      std::filesystem::create_directories(scratch / directory);
    }
    for (const char* file : {"root/keys", "root/other/keys", "root/newer/keys", "root/new/mine"}) {
      write_file(scratch / file, "precious");
    }
  }
  // All that a peer could change: names, inodes, modes, times.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    const auto note = [&](const std::filesystem::path& path) {
      const struct stat status = status_of(path.string());
      all[path.string()] = std::to_string(status.st_ino) + " " + std::to_string(status.st_mode) + " " +
                           std::to_string(status.st_nlink) + " " + std::to_string(status.st_mtim.tv_sec) +
                           "." + std::to_string(status.st_mtim.tv_nsec);
    };
    note(scratch.path());
    for (const auto& found : std::filesystem::recursive_directory_iterator(scratch.path())) {
      note(found.path());
    }
    return all;
  }
};

TEST_F(DestinationMappingTest, NoFrameNamesWhatLiesOutside) {
  const auto before = everything();
  for (const char* path : {"", "keys", "other", "other/keys", "newer", "newer/keys", "fresh"}) {
    for (const auto& [what, frames] : frames_that_name(path)) {
      SCOPED_TRACE(what + " of " + path);
      const std::size_t told = heard.problems().size();
      attack(frames);
      EXPECT_FALSE(complete);
      ASSERT_GT(heard.problems().size(), told);
      EXPECT_EQ(heard.problems()[told].kind, io::ErrorKind::protocol) << heard.text();
      EXPECT_EQ(everything(), before);
      heard.reporter.begin_anew();
    }
  }
}

TEST_F(DestinationMappingTest, EachOfThemMayNameWhatLiesBeneath) {
  for (const auto& [what, frames] : frames_that_name("new/mine")) {
    SCOPED_TRACE(what);
    attack(frames);
    for (const Problem& problem : heard.problems()) {
      EXPECT_EQ(problem.text.find("outside the destination of the copy"), std::string::npos) << problem.text;
    }
    heard.reporter.begin_anew();
  }
}

TEST_F(DestinationMappingTest, WhereNothingLandsNothingIsTaken) {
  landings.clear();
  const auto before = everything();
  for (const auto& [what, frames] : frames_that_name("new/mine")) {
    SCOPED_TRACE(what);
    attack(frames);
    EXPECT_FALSE(complete);
    EXPECT_EQ(everything(), before);
    heard.reporter.begin_anew();
  }
}

}  // namespace
}  // namespace rdcp::tree
