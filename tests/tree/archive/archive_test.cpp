#include "tree/archive/archive.h"

#include <gmock/gmock.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>

#include "tests/tree/archive/archive_fixture.h"

namespace rdcp::tree {
namespace {

using testing::HasSubstr;
using Tag = AclLine::Tag;

TEST_F(Archive, FileComesBackWithContentAndMetadata) {
  const Entry entry = file_entry("dir/file.txt", 5);
  add(entry, "hello");
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 1u);
  EXPECT_EQ(all.entries[0], entry);
  EXPECT_EQ(all.contents[0], "hello");
}

TEST_F(Archive, ManyEntriesComeBackInOrder) {
  for (int i = 0; i < 50; ++i) add(file_entry("f" + std::to_string(i), 600), std::string(600, 'a' + i % 26));
  EXPECT_EQ(writer_.entries(), 50u);
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 50u);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(all.entries[i].path, "f" + std::to_string(i));
    EXPECT_EQ(all.contents[i], std::string(600, 'a' + i % 26));
  }
}

TEST_F(Archive, EmptyArchiveHasNoEntries) {
  EXPECT_TRUE(round_trip().entries.empty());
}

TEST_F(Archive, WriterIsReusable) {
  add(file_entry("first", 0));
  finish();
  writer_.begin(slot_);
  EXPECT_EQ(journey(file_entry("second", 0)).path, "second");
}

TEST_F(Archive, EveryTypeComesBack) {
  std::vector<Entry> entries;
  entries.push_back(entry_of(EntryType::directory, "dir"));
  entries.push_back(entry_of(EntryType::fifo, "fifo"));
  entries.push_back(entry_of(EntryType::socket, "socket"));
  entries.push_back(entry_of(EntryType::symlink, "symlink"));
  entries.back().link_target = "../anywhere";
  entries.push_back(entry_of(EntryType::hard_link, "dir/hard"));
  entries.back().first_name = own("dir/file");
  entries.push_back(entry_of(EntryType::char_device, "null"));
  entries.back().device = makedev(1, 3);
  entries.push_back(entry_of(EntryType::block_device, "disk"));
  entries.back().device = makedev(4095, (1 << 20) - 1);
  for (const Entry& entry : entries) add(entry);
  EXPECT_EQ(round_trip().entries, entries);
}

TEST_F(Archive, RootHasAnEmptyPath) {
  EXPECT_EQ(journey(entry_of(EntryType::directory, "")), entry_of(EntryType::directory, ""));
}

TEST_F(Archive, RootMayBeAFile) {
  EXPECT_EQ(journey(file_entry("", 1), "x"), file_entry("", 1));
}

TEST_F(Archive, PathsAreBytes) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '/') every_byte += static_cast<char>(byte);
  }
  const std::string paths[] = {"line\nfeed",
                               "\xff\xfe",
                               "caf\xc3\xa9",
                               "back\\slash",
                               "._mac",
                               "trailing ",
                               every_byte,
                               std::string(255, 'n'),
                               std::string(254, 'n') + "\xff",
                               "a/" + every_byte};
  for (const std::string& path : paths) {
    add(file_entry(path, 1), "x");
    add(entry_of(EntryType::directory, path + "_dir"));
  }
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 2 * std::size(paths));
  for (std::size_t i = 0; i < std::size(paths); ++i) {
    EXPECT_EQ(all.entries[2 * i], file_entry(paths[i], 1));
    EXPECT_EQ(all.entries[2 * i + 1].path, paths[i] + "_dir");
  }
}

TEST_F(Archive, PathsBeyondPathMaxComeBack) {
  std::string path = "start";
  while (path.size() < 9000) path += "/" + std::string(200, 'd');
  for (std::size_t length = 90; length < 270; ++length) add(file_entry(path.substr(0, length) + "e", 0));
  add(file_entry(path, 0));
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 181u);
  for (std::size_t i = 0; i < 180; ++i) EXPECT_EQ(all.entries[i].path, path.substr(0, 90 + i) + "e");
  EXPECT_EQ(all.entries[180].path, path);
}

TEST_F(Archive, SymlinkTargetsAreBytesOfAnyLength) {
  std::string target = "/../\xff\n//";
  for (const std::size_t length : {1, 99, 100, 101, 4095}) {
    Entry entry = entry_of(EntryType::symlink, "link" + std::to_string(length));
    target.resize(length, 't');
    entry.link_target = target;
    add(entry);
    target = "/../\xff\n//";
  }
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 5u);
  EXPECT_EQ(all.entries[4].link_target, target + std::string(4095 - target.size(), 't'));
  for (const Entry& entry : all.entries)
    EXPECT_EQ("link" + std::to_string(entry.link_target.size()), entry.path);
}

TEST_F(Archive, HardLinkToALongPathComesBack) {
  Entry entry = entry_of(EntryType::hard_link, "l");
  entry.first_name = own(std::string(200, 'a') + "/" + std::string(200, '\xe9'));
  EXPECT_EQ(journey(entry), entry);
}

TEST_F(Archive, TimesComeBackToTheNanosecond) {
  const Timestamp times[] = {{0, 0},
                             {0, 1},
                             {-1, 0},
                             {-1, 999'999'999},
                             {-2, 500'000'000},
                             {-1'000'000'000, 1},
                             {1'700'000'000, 0},
                             {0x7fffffff, 999'999'999},
                             {0x80000000, 1},
                             {253'402'300'800, 120'000'000},
                             {-62'135'596'800, 7}};
  for (const Timestamp& time : times) {
    Entry entry = file_entry("t", 0);
    entry.mtime = time;
    add(entry);
  }
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), std::size(times));
  for (std::size_t i = 0; i < std::size(times); ++i) {
    EXPECT_EQ(all.entries[i].mtime.seconds, times[i].seconds);
    EXPECT_EQ(all.entries[i].mtime.nanoseconds, times[i].nanoseconds) << times[i].seconds;
  }
}

TEST_F(Archive, LargeIdsAndEmptyNamesComeBack) {
  for (const std::uint32_t id : {0u, (1u << 18), (1u << 21) + 1, 0x7fffffffu, 0x80000000u, 0xfffffffeu}) {
    Entry entry = file_entry("f", 0);
    entry.uid = id;
    entry.gid = id;
    entry.user = id == 0 ? "" : "J\xc3\xbcrgen \xff";
    entry.group = id == 0 ? "" : std::string(40, 'g');
    writer_.begin(slot_);
    EXPECT_EQ(journey(entry), entry);
  }
}

TEST_F(Archive, AllModeBitsComeBack) {
  for (const std::uint32_t mode : {0u, 0777u, 07777u, 04755u, 01777u}) {
    Entry entry = entry_of(EntryType::directory, "d");
    entry.mode = mode;
    writer_.begin(slot_);
    EXPECT_EQ(journey(entry).mode, mode);
  }
}

TEST_F(Archive, XattrsComeBackWhateverTheyHold) {
  Entry entry = file_entry("x", 0);
  entry.xattrs = {{"user.plain", "value"},
                  {"user.with=equals%and space", std::string("\0\n\xff", 3)},
                  {"user.\xff\xc3\xa9", "non-ASCII name"},
                  {"user.empty", ""},
                  {"trusted.large", std::string(65536, '\x80')}};
  EXPECT_EQ(journey(entry), entry);
}

TEST_F(Archive, OnlyAFifoIsMarkedAsASocket) {
  Entry entry = file_entry("x", 0);
  entry.xattrs = {{"rdcp.socket", ""}};
  EXPECT_EQ(journey(entry), entry);
}

TEST_F(Archive, AclsComeBack) {
  Entry entry = entry_of(EntryType::directory, "d");
  entry.mode = 0775;
  entry.access_acl = {{Tag::user_obj, 7, 0, ""},    {Tag::user, 5, 1000, "alice"}, {Tag::group_obj, 1, 0, ""},
                      {Tag::group, 7, 50, "staff"}, {Tag::mask, 7, 0, ""},         {Tag::other, 5, 0, ""}};
  entry.default_acl = {{Tag::user_obj, 7, 0, ""}, {Tag::group_obj, 5, 0, ""}, {Tag::other, 0, 0, ""}};
  EXPECT_EQ(journey(entry), entry);
}

TEST_F(Archive, AclNamesAndIdsAreExact) {
  Entry entry = entry_of(EntryType::directory, "d");
  entry.mode = 0675;
  const std::vector<AclLine> lines = {{Tag::user_obj, 6, 0, ""},
                                      {Tag::user, 1, 0, ""},
                                      {Tag::user, 2, 7, "1234"},
                                      {Tag::user, 3, 0x7fffffff, ""},
                                      {Tag::user, 4, 0x80000000, "CORP\\j\xc3\xbcrgen, #1:x%"},
                                      {Tag::user, 5, 0xfffffffe, ""},
                                      {Tag::group_obj, 4, 0, ""},
                                      {Tag::group, 6, 0xfffffffe, "9%@1"},
                                      {Tag::group, 7, 3, "  \n"},
                                      {Tag::mask, 7, 0, ""},
                                      {Tag::other, 5, 0, ""}};
  entry.access_acl = lines;
  entry.default_acl = lines;
  EXPECT_EQ(journey(entry), entry);
}

struct SparseCase {
  const char* name;
  std::uint64_t size;
  std::vector<io::Extent> data;
};

class ArchiveSparse : public Archive, public testing::WithParamInterface<SparseCase> {};

TEST_P(ArchiveSparse, KeepsContentAndHoles) {
  Entry entry = file_entry("dir/sparse", GetParam().size);
  entry.data = GetParam().data;
  std::string content(entry.size, '\0');
  for (const io::Extent& extent : entry.data)
    content.replace(extent.offset, extent.length, extent.length, 'D');
  add(entry, content);
  add(file_entry("behind", 3), "abc");
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 2u);
  EXPECT_EQ(all.entries[0].size, entry.size);
  EXPECT_EQ(all.entries[0].path, entry.path);
  EXPECT_EQ(all.contents[0], content);
  std::vector<io::Extent> expected = entry.data;
  std::erase_if(expected, [](const io::Extent& extent) { return extent.length == 0; });
  EXPECT_EQ(all.blocks[0], expected);
  EXPECT_EQ(all.contents[1], "abc");
}

INSTANTIATE_TEST_SUITE_P(
    Holes, ArchiveSparse,
    testing::Values(SparseCase{"AllHole", 100'000, {{100'000, 0}}},
                    SparseCase{"EndsInHole", 100'000, {{0, 4096}}},
                    SparseCase{"EndsInData", 100'001, {{98'304, 1697}}},
                    SparseCase{"HoleAtBothEnds", 65'536, {{8192, 4096}}},
                    SparseCase{"TwoPieces", 65'536, {{4096, 4096}, {16'384, 100}}},
                    SparseCase{"NoHole", 8192, {{0, 8192}}}, SparseCase{"Empty", 0, {{0, 0}}},
                    SparseCase{"ManyPieces",
                               40'960,
                               {{0, 1}, {8192, 511}, {16'384, 512}, {24'576, 513}, {32'768, 8192}}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Archive, AddThatDoesNotFitLeavesItAsItWas) {
  writer_.begin(std::span(slot_).first(8192));
  add(file_entry("fits", 100), std::string(100, 'x'));
  const auto added = writer_.add(file_entry("does not", 8000), bytes_of(std::string(8000, 'y')));
  ASSERT_TRUE(added.ok());
  EXPECT_FALSE(*added);
  EXPECT_EQ(writer_.entries(), 1u);
  add(file_entry("fits too", 10), std::string(10, 'z'));
  const Unpacked all = round_trip();
  ASSERT_EQ(all.entries.size(), 2u);
  EXPECT_EQ(all.entries[1].path, "fits too");
}

TEST_F(Archive, EntryOfExactlyItsBoundFits) {
  Entry entry = file_entry(std::string(300, '\xff'), 5000);
  entry.xattrs = {{"user.%%%%%%%%", std::string(1000, 'v')}};
  writer_.begin(std::span(slot_).first(ArchiveWriter::bound(entry) + ArchiveWriter::kTrailerBytes));
  add(entry, std::string(5000, 'c'));
  EXPECT_LE(finish().size(), ArchiveWriter::bound(entry) + ArchiveWriter::kTrailerBytes);
  writer_.begin(std::span(slot_).first(ArchiveWriter::bound(entry) + ArchiveWriter::kTrailerBytes - 1));
  EXPECT_FALSE(*writer_.add(entry, bytes_of(std::string(5000, 'c'))));
}

TEST_F(Archive, BoundOfATypicalFileIsNotWasteful) {
  EXPECT_LE(
      ArchiveWriter::bound(file_entry("project/node_modules/some-package/lib/internal/file01.js", 4096)),
      8192u);
}

TEST_F(Archive, BoundCoversWhatIsWrittenForAwkwardEntries) {
  slot_.resize(4 << 20);
  for (std::size_t length = 0; length < 600; length += 7) {
    Entry entry = file_entry("p" + std::string(length, '\x80'), length);
    entry.user = std::string(length % 300, 'u');
    entry.group = std::string(length % 300, '\xe9');
    entry.uid = entry.gid = 0xfffffffe;
    entry.mtime = {-62'135'596'800, 999'999'999};
    if (length > 0) entry.data = {{0, length / 2}, {length / 2 + 1, 0}};
    for (std::size_t i = 0; i < length % 5; ++i)
      entry.xattrs.push_back({std::string(length, '='), std::string(length, 'x')});
    for (std::size_t i = 0; i < length % 9; ++i) {
      entry.access_acl.push_back({Tag::user, 7, 0xfffffffe, std::string(i * 20, ' ')});
      entry.default_acl.push_back({Tag::group, 7, 0xfffffffe, std::string(i * 20, ' ')});
    }
    writer_.begin(slot_);
    add(entry, std::string(length, 'c'));
    EXPECT_LE(finish().size(), ArchiveWriter::bound(entry) + ArchiveWriter::kTrailerBytes) << length;
  }
}

TEST_F(Archive, MoreXattrsThanAReaderTakesAreAnError) {
  slot_.resize(8 << 20);
  writer_.begin(slot_);
  Entry entry = file_entry("x", 0);
  entry.xattrs.assign(16, {"user.x", std::string(65536, 'x')});
  const auto added = writer_.add(entry, {});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().subject, "x");
  EXPECT_EQ(journey(file_entry("after", 0)).path, "after");
}

TEST_F(Archive, NearlyAsManyXattrsAsAReaderTakesComeBack) {
  slot_.resize(8 << 20);
  writer_.begin(slot_);
  Entry entry = file_entry("x", 0);
  for (int i = 0; i < 11; ++i) entry.xattrs.push_back({"user." + std::to_string(i), std::string(65536, 'x')});
  EXPECT_EQ(journey(entry), entry);
}

TEST_F(Archive, ContentNotReadIsSkipped) {
  add(file_entry("a", 3000), std::string(3000, 'a'));
  add(file_entry("b", 0));
  const auto chunk = finish();
  const AdmittedNames admitted = AdmittedNames::all();
  ArchiveReader reader(admitted);
  ASSERT_TRUE(reader.open(chunk).ok());
  Entry entry;
  ASSERT_TRUE(*reader.next(entry));
  ASSERT_TRUE(*reader.next(entry));
  EXPECT_EQ(entry.path, "b");
  EXPECT_FALSE(*reader.next(entry));
}

TEST_F(Archive, ContentPointsIntoTheChunk) {
  add(file_entry("a", 3000), std::string(3000, 'a'));
  const auto chunk = finish();
  const AdmittedNames admitted = AdmittedNames::all();
  ArchiveReader reader(admitted);
  ASSERT_TRUE(reader.open(chunk).ok());
  Entry entry;
  ASSERT_TRUE(*reader.next(entry));
  const auto block = reader.next_block();
  ASSERT_TRUE(block.ok() && *block);
  EXPECT_GE((*block)->bytes.data(), chunk.data());
  EXPECT_LE((*block)->bytes.data() + (*block)->bytes.size(), chunk.data() + chunk.size());
}

TEST_F(Archive, GnuTarListsIt) {
  add(entry_of(EntryType::directory, "dir"));
  add(file_entry("dir/file", 5), "hello");
  Entry link = entry_of(EntryType::symlink, "dir/link");
  link.link_target = "file";
  add(link);
  const auto chunk = finish();
  const std::string path = testing::TempDir() + "rdcp-archive-test.tar";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
  FILE* pipe = ::popen(("LC_ALL=C TZ=UTC tar tvf " + path + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string listing(4096, '\0');
  listing.resize(std::fread(listing.data(), 1, listing.size(), pipe));
  const int status = ::pclose(pipe);
  std::remove(path.c_str());
  if (status == 127 << 8) GTEST_SKIP() << "GNU tar is not installed";
  EXPECT_EQ(status, 0) << listing;
  EXPECT_THAT(listing, HasSubstr("drw-r--r-- alice/users"));
  EXPECT_THAT(listing, HasSubstr("5 2023-11-14 22:13 dir/file"));
  EXPECT_THAT(listing, HasSubstr("dir/link -> file"));
}

}  // namespace
}  // namespace rdcp::tree
