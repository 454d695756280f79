// A target tree to put entries into, and the entries.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/tree/meta/own_path.h"
#include "tests/tree/scratch_directory.h"
#include "tree/archive/archive.h"
#include "tree/session/target_tree.h"

namespace rdcp::tree {

inline constexpr Timestamp kTime{1'600'000'000, 123'456'789};

inline Entry entry_of(EntryType type, std::string path, std::uint32_t mode = 0644) {
  Entry entry;
  entry.type = type;
  entry.path = own(std::move(path));
  entry.mode = mode;
  entry.uid = ::geteuid();
  entry.gid = ::getegid();
  entry.mtime = kTime;
  return entry;
}

inline Entry symlink_of(std::string path, std::string link_target) {
  Entry entry = entry_of(EntryType::symlink, std::move(path), 0777);
  entry.link_target = std::move(link_target);
  return entry;
}

inline Entry hard_link_of(std::string path, std::string first_name) {
  Entry entry = entry_of(EntryType::hard_link, std::move(path));
  entry.first_name = own(std::move(first_name));
  return entry;
}

inline std::uint32_t mode_of(const std::string& path) {
  return status_of(path).st_mode & 07777;
}

inline Timestamp time_of(const std::string& path) {
  const struct stat status = status_of(path);
  return {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
}

// An archive that holds one file, read up to its content.
class OneFile {
 public:
  OneFile(const Entry& entry, std::string_view content) : slot_(ArchiveWriter::bound(entry) + (1 << 16)) {
    ArchiveWriter writer;
    writer.begin(slot_);
    EXPECT_TRUE(writer.add(entry, std::as_bytes(std::span(content))).value());
    const std::size_t length = writer.finish().value();
    EXPECT_TRUE(reader_.open(std::span(slot_).first(length)).ok());
    EXPECT_TRUE(reader_.next(entry_).value());
  }
  Entry& entry() { return entry_; }
  ArchiveReader& content() { return reader_; }

 private:
  std::vector<std::byte> slot_;
  const AdmittedNames admitted_ = AdmittedNames::all();
  ArchiveReader reader_{admitted_};
  Entry entry_;
};

class TargetTreeFixture {
 protected:
  explicit TargetTreeFixture(Naming naming) : naming_(naming) {}

  TargetTree tree_at(int root) {
    return TargetTree(root, "ROOT", {policy_, names_, losses_}, earlier_, naming_);
  }
  io::Result<void> put(Entry entry, std::string_view content) {
    entry.size = content.size();
    OneFile file(entry, content);
    return tree_.put_file(file.entry(), file.content());
  }
  io::Result<void> put(const std::string& path, std::string_view content) {
    return put(entry_of(EntryType::file, path), content);
  }

  Naming naming_;
  ScratchDirectory root_;
  ScratchDirectory outside_;
  MetadataPolicy policy_;
  NameTable names_;
  Losses losses_;
  EarlierCopies earlier_{[](const io::Error& error) { ADD_FAILURE() << error.message(); }};
  TargetTree tree_ = tree_at(root_.fd());
};

inline void expect_ok(const io::Result<void>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message();
}

inline void expect_error(const io::Result<void>& result, int code, std::string_view subject) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message();
  EXPECT_EQ(result.error().subject, subject);
}

inline void expect_protocol_error(const io::Result<void>& result) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, io::ErrorKind::protocol) << result.error().message();
}

}  // namespace rdcp::tree
