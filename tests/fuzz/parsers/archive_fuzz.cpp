// ArchiveReader over arbitrary bytes: no memory error, and whatever it hands out keeps the promises of
// archive.h.
#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/tar_checksums.h"
#include "tests/fuzz/targets.h"
#include "tree/archive/archive.h"

namespace rdcp::fuzz {
namespace {

using rdcp::tree::AdmittedNames;
using rdcp::tree::ArchiveReader;
using rdcp::tree::Entry;
using rdcp::tree::EntryType;

void check(const Entry& entry, std::size_t chunk_bytes) {
  require(rdcp::tree::is_safe_path(entry.path));
  require(entry.type != EntryType::hard_link || rdcp::tree::is_safe_path(entry.first_name));
  require(entry.type == EntryType::file || entry.size == 0);
  require(!entry.data.empty() || entry.size <= chunk_bytes);
  require((entry.mode & ~07777u) == 0 && entry.mtime.nanoseconds < 1'000'000'000);
  std::size_t metadata_bytes = 0;
  for (const auto& xattr : entry.xattrs) metadata_bytes += xattr.name.size() + xattr.value.size();
  require(metadata_bytes <= chunk_bytes);
}

void read_everything(std::span<const std::byte> chunk) {
  const AdmittedNames admitted = AdmittedNames::all();
  ArchiveReader reader(admitted);
  if (!reader.open(chunk)) return;
  Entry entry;
  for (auto more = reader.next(entry); more && *more; more = reader.next(entry)) {
    check(entry, chunk.size());
    std::uint64_t end = 0;
    for (auto block = reader.next_block(); block && *block; block = reader.next_block()) {
      require((*block)->offset >= end && !(*block)->bytes.empty());
      end = (*block)->offset + (*block)->bytes.size();
      require(end <= entry.size);
      volatile std::byte last = (*block)->bytes.back();
      (void)last;
    }
  }
}

// The bytes with an end, right header checksums and a table of times.
std::vector<std::byte> mended(std::span<const std::byte> bytes) {
  constexpr std::size_t kBlock = 512;
  std::vector<std::byte> chunk(bytes.begin(), bytes.end());
  chunk.resize((chunk.size() + kBlock - 1) / kBlock * kBlock + 2 * kBlock);
  const unsigned entries = mend_checksums(chunk);
  chunk.resize(chunk.size() + 4 * entries);  // the table of times, and its length
  for (int i = 0; i < 4; ++i) chunk.push_back(static_cast<std::byte>(entries >> (8 * i)));
  return chunk;
}

}  // namespace

void fuzz_archive(Bytes input) {
  read_everything(input);
  read_everything(mended(input));
}

}  // namespace rdcp::fuzz
