#include "tree/resume/journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <vector>

#include "io/bytes.h"
#include "io/retry.h"
#include "io/whole_range.h"

namespace rdcp::tree {
namespace {

constexpr std::uint64_t kMagic = 0x6c6e724a70634452;  // "RDcpJrnl"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kWithoutDigest = std::uint64_t{1} << 63;

// Offsets of the header's fields.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kNameLengthAt = 12;
constexpr std::size_t kTokenAt = 16;
constexpr std::size_t kSizeAt = 32;
constexpr std::size_t kInodeAt = 40;
constexpr std::size_t kNameAt = 48;
constexpr std::size_t kHeaderCheckAt = Journal::kHeaderBytes - 8;
static_assert(kNameAt + NAME_MAX <= kHeaderCheckAt);

// Offsets of a record's fields. Its check includes the header's check, so that records of another file's
// journal that are left on the disk do not count.
constexpr std::size_t kLengthAt = 8;
constexpr std::size_t kStampAt = 16;
constexpr std::size_t kDigestAt = 24;
constexpr std::size_t kCheckAt = 40;
static_assert(kCheckAt + 8 == Journal::kRecordBytes);

using RecordBytes = std::array<std::byte, Journal::kRecordBytes>;

std::uint64_t check_of_record(const std::byte* record, std::uint64_t header_check) {
  std::array<std::byte, kCheckAt + 8> bytes;
  std::memcpy(bytes.data(), record, kCheckAt);
  io::store_le(bytes.data() + kCheckAt, header_check);
  return io::check_of(bytes);
}

// Returns false unless all bytes were read.
bool read_at(int fd, std::span<std::byte> into, std::uint64_t offset) {
  return io::read_range(fd, into, offset) == static_cast<ssize_t>(into.size());
}

}  // namespace

std::optional<Journal::Header> Journal::read_header() const {
  std::array<std::byte, kHeaderBytes> bytes;
  if (!read_at(file_.get(), bytes, 0)) return std::nullopt;
  Header header;
  header.check = io::load_le<std::uint64_t>(bytes.data() + kHeaderCheckAt);
  const auto name_length = io::load_le<std::uint32_t>(bytes.data() + kNameLengthAt);
  if (io::load_le<std::uint64_t>(bytes.data()) != kMagic ||
      io::load_le<std::uint32_t>(bytes.data() + kVersionAt) != kVersion || name_length > NAME_MAX ||
      header.check != io::check_of(std::span(bytes).first<kHeaderCheckAt>())) {
    return std::nullopt;
  }
  std::memcpy(header.source.token.bytes.data(), bytes.data() + kTokenAt, sizeof header.source.token.bytes);
  header.source.size = io::load_le<std::uint64_t>(bytes.data() + kSizeAt);
  header.inode = io::load_le<std::uint64_t>(bytes.data() + kInodeAt);
  header.name.assign(reinterpret_cast<const char*>(bytes.data() + kNameAt), name_length);
  return header;
}

std::optional<std::uint64_t> Journal::part_inode() const {
  const auto header = read_header();
  return header ? std::optional(header->inode) : std::nullopt;
}

std::string Journal::name_in_header() const {
  const auto header = read_header();
  return header ? header->name : std::string();
}

bool Journal::load(const SourceState& source, std::uint64_t part_inode, bool doubt) {
  const auto header = read_header();
  if (!header || header->source != source || header->inode != part_inode || header->name != name_) {
    return false;
  }
  header_check_ = header->check;
  size_ = source.size;
  load_records(doubt);
  return true;
}

void Journal::load_records(bool doubt) {
  constexpr std::size_t kAtOnce = 1024;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return;
  const std::uint64_t bytes = static_cast<std::uint64_t>(status.st_size) - kHeaderBytes;
  // A last record that was cut short still takes up its place.
  const std::uint64_t places = std::min((bytes + kRecordBytes - 1) / kRecordBytes, kRecordsMax);
  const std::uint64_t whole = std::min(bytes / kRecordBytes, kRecordsMax);
  std::vector<std::byte> page(kAtOnce * kRecordBytes);
  for (std::uint64_t at = 0; at < whole;) {
    const std::size_t count = std::min<std::uint64_t>(kAtOnce, whole - at);
    if (!read_at(file_.get(), std::span(page).first(count * kRecordBytes),
                 kHeaderBytes + at * kRecordBytes)) {
      break;
    }
    for (std::size_t i = 0; i < count; ++i) take_record(page.data() + i * kRecordBytes, doubt);
    at += count;
  }
  next_ = places;
}

void Journal::take_record(const std::byte* bytes, bool doubt) {
  if (io::load_le<std::uint64_t>(bytes + kCheckAt) != check_of_record(bytes, header_check_)) return;
  const auto length = io::load_le<std::uint64_t>(bytes + kLengthAt);
  Record record;
  record.offset = io::load_le<std::uint64_t>(bytes);
  record.length = length & ~kWithoutDigest;
  if (record.offset > size_ || record.length > size_ - record.offset || record.length == 0) return;
  std::memcpy(record.digest.bytes.data(), bytes + kDigestAt, sizeof record.digest.bytes);
  const bool known = stamp_ && io::load_le<std::uint64_t>(bytes + kStampAt) == *stamp_;
  if (known && !doubt) {
    there_.add({record.offset, record.length});
  } else if ((length & kWithoutDigest) == 0) {
    doubtful_[record.offset] = record;
  }
}

bool Journal::start(const SourceState& source, std::uint64_t part_inode) {
  if (name_.size() > NAME_MAX || io::retry_eintr([&] { return ::ftruncate(file_.get(), 0); }) != 0)
    return false;
  std::array<std::byte, kHeaderBytes> bytes{};
  io::store_le(bytes.data(), kMagic);
  io::store_le(bytes.data() + kVersionAt, kVersion);
  io::store_le(bytes.data() + kNameLengthAt, static_cast<std::uint32_t>(name_.size()));
  std::memcpy(bytes.data() + kTokenAt, source.token.bytes.data(), sizeof source.token.bytes);
  io::store_le(bytes.data() + kSizeAt, source.size);
  io::store_le(bytes.data() + kInodeAt, part_inode);
  std::memcpy(bytes.data() + kNameAt, name_.data(), name_.size());
  header_check_ = io::check_of(std::span(bytes).first<kHeaderCheckAt>());
  io::store_le(bytes.data() + kHeaderCheckAt, header_check_);
  size_ = source.size;
  return io::write_range(file_.get(), bytes, 0) == 0;
}

void Journal::add(std::uint64_t offset, std::uint64_t length, const io::Digest& digest) {
  append(offset, length, digest);
}

void Journal::add_without_digest(std::uint64_t offset, std::uint64_t length) {
  append(offset, length | kWithoutDigest, {});
}

void Journal::append(std::uint64_t offset, std::uint64_t length_and_kind, const io::Digest& digest) {
  const std::uint64_t place = next_.fetch_add(1);
  if (place >= kRecordsMax) return;
  RecordBytes bytes;
  io::store_le(bytes.data(), offset);
  io::store_le(bytes.data() + kLengthAt, length_and_kind);
  io::store_le(bytes.data() + kStampAt, stamp_.value_or(0));
  std::memcpy(bytes.data() + kDigestAt, digest.bytes.data(), sizeof digest.bytes);
  io::store_le(bytes.data() + kCheckAt, check_of_record(bytes.data(), header_check_));
  (void)io::write_range(file_.get(), bytes, kHeaderBytes + place * kRecordBytes);
}

bool Journal::has_any() const {
  const std::lock_guard lock(mutex_);
  return !there_.empty() || !doubtful_.empty();
}

bool Journal::holds(std::uint64_t offset, std::uint64_t length) const {
  const std::lock_guard lock(mutex_);
  return there_.covers({offset, length});
}

std::optional<Journal::Record> Journal::take_doubtful(std::uint64_t offset, std::uint64_t length) {
  const std::lock_guard lock(mutex_);
  // Records of one run do not overlap, so only the last one that begins before the extent's end can reach
  // into it.
  auto at = doubtful_.lower_bound(offset + length);
  if (at == doubtful_.begin()) return std::nullopt;
  --at;
  if (at->second.offset + at->second.length <= offset) return std::nullopt;
  const Record record = at->second;
  doubtful_.erase(at);
  return record;
}

void Journal::confirm(const Record& record) {
  append(record.offset, record.length, record.digest);
  const std::lock_guard lock(mutex_);
  there_.add({record.offset, record.length});
}

}  // namespace rdcp::tree
