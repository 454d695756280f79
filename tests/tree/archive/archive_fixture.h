// An archive in a slot, for the tests of archive chunks.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/tree/meta/own_path.h"
#include "tree/archive/archive.h"

namespace rdcp::tree {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline Entry file_entry(std::string path, std::size_t size) {
  Entry entry;
  entry.path = own(std::move(path));
  entry.mode = 0644;
  entry.uid = 1000;
  entry.gid = 100;
  entry.user = "alice";
  entry.group = "users";
  entry.mtime = {1'700'000'000, 123'456'789};
  entry.size = size;
  return entry;
}

inline Entry entry_of(EntryType type, std::string path) {
  Entry entry = file_entry(std::move(path), 0);
  entry.type = type;
  return entry;
}

// What a reader makes of one archive: entries, and for each its content with holes as zeros and its blocks.
struct Unpacked {
  std::vector<Entry> entries;
  std::vector<std::string> contents;
  std::vector<std::vector<io::Extent>> blocks;
};

inline io::Result<Unpacked> unpack(std::span<const std::byte> chunk) {
  const AdmittedNames admitted = AdmittedNames::all();
  ArchiveReader reader(admitted);
  if (auto opened = reader.open(chunk); !opened) return opened.error();
  Unpacked all;
  for (Entry entry;;) {
    auto more = reader.next(entry);
    if (!more) return more.error();
    if (!*more) return all;
    all.entries.push_back(entry);
    std::string& content = all.contents.emplace_back(entry.size, '\0');
    auto& blocks = all.blocks.emplace_back();
    for (;;) {
      auto block = reader.next_block();
      if (!block) return block.error();
      if (!*block) break;
      std::memcpy(content.data() + (*block)->offset, (*block)->bytes.data(), (*block)->bytes.size());
      blocks.push_back({(*block)->offset, (*block)->bytes.size()});
    }
  }
}

class Archive : public testing::Test {
 protected:
  Archive() { writer_.begin(slot_); }

  void add(const Entry& entry, std::string_view content = {}) {
    const auto added = writer_.add(entry, bytes_of(content));
    ASSERT_TRUE(added.ok()) << added.error().detail;
    ASSERT_TRUE(*added);
  }
  std::span<const std::byte> finish() {
    const auto length = writer_.finish();
    EXPECT_TRUE(length.ok());
    return std::span(slot_).first(*length);
  }
  Unpacked round_trip() {
    auto all = unpack(finish());
    EXPECT_TRUE(all.ok()) << all.error().detail << " in " << all.error().subject;
    return all ? *all : Unpacked();
  }
  // The entry after a journey through an archive of its own.
  Entry journey(const Entry& entry, std::string_view content = {}) {
    add(entry, content);
    Unpacked all = round_trip();
    EXPECT_EQ(all.entries.size(), 1u);
    return all.entries.empty() ? Entry() : all.entries.front();
  }

  std::vector<std::byte> slot_ = std::vector<std::byte>(1 << 20);
  ArchiveWriter writer_;
};

}  // namespace rdcp::tree
