// Whatever lies on the disk as a journal: only bytes that sound records of this file and this mount cover
// count as being there, doubtful records come once and lie in the file, and what is added is there for the
// next run. The input is first taken for a journal as it is, then for choices from which a journal with right
// checks is made, since chance finds none.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>

#include "io/file.h"
#include "io/write_all.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/targets.h"
#include "tree/resume/journal.h"

namespace rdcp::fuzz {
namespace {

using tree::Journal;
using tree::SourceState;

constexpr std::uint64_t kStamp = 0x5354414d50;
constexpr std::uint64_t kInode = 77;
constexpr std::uint64_t kWithoutDigest = std::uint64_t{1} << 63;
constexpr std::size_t kHeaderCheckAt = Journal::kHeaderBytes - 8;
constexpr std::string_view kName = "file";
constexpr std::size_t kRecordsMost = 64;

// What a journal should say: from offset to end of each piece, and how many records are in doubt.
struct Model {
  std::vector<io::Extent> there;
  std::size_t doubtful = 0;

  bool holds(std::uint64_t offset, std::uint64_t length) const {
    std::uint64_t at = offset;
    for (bool moved = true; moved && at < offset + length;) {
      moved = false;
      for (const io::Extent& piece : there) {
        if (piece.offset > at || piece.offset + piece.length <= at) continue;
        at = piece.offset + piece.length;
        moved = true;
      }
    }
    return at >= offset + length;
  }
};

io::Fd memory_file(Bytes content) {
  io::Fd file(::memfd_create("journal", MFD_CLOEXEC));
  require(bool(file) && io::write_all(file.get(), text_of(content)) == 0);
  return file;
}

std::vector<std::byte> header_of(const SourceState& source, std::string_view name) {
  const io::Fd file = memory_file({});
  Journal journal(io::Fd(::dup(file.get())), name, kStamp);
  require(journal.start(source, kInode));
  std::vector<std::byte> header(Journal::kHeaderBytes);
  require(::pread(file.get(), header.data(), header.size(), 0) == static_cast<ssize_t>(header.size()));
  return header;
}

// A record of any fields, with a right check unless `broken`.
void put_record(std::vector<std::byte>& file, Choices& choices, const SourceState& source, Model& model) {
  const auto kind = choices.number<std::uint8_t>();
  const bool small = (kind & 1) != 0;
  const std::uint64_t offset =
      small ? choices.number<std::uint16_t>() * 16ull : choices.number<std::uint64_t>();
  const std::uint64_t length =
      small ? choices.number<std::uint16_t>() * 16ull : choices.number<std::uint64_t>() & ~kWithoutDigest;
  const bool without_digest = (kind & 2) != 0, other_stamp = (kind & 4) != 0, broken = (kind & 8) != 0;
  std::array<std::byte, Journal::kRecordBytes> record{};
  io::store_le(record.data(), offset);
  io::store_le(record.data() + 8, length | (without_digest ? kWithoutDigest : 0));
  io::store_le(record.data() + 16, kStamp + (other_stamp ? 1 : 0));
  std::copy_n(file.begin() + kHeaderCheckAt, 8, record.begin() + 40);
  io::store_le(record.data() + 40, io::check_of(record) + (broken ? 1 : 0));
  file.insert(file.end(), record.begin(), record.end());
  const bool fits = length > 0 && offset <= source.size && length <= source.size - offset;
  if (broken || !fits) return;
  if (!other_stamp) model.there.push_back({offset, length});
  if (other_stamp && !without_digest) ++model.doubtful;
}

// Asks about extents, and takes what is doubtful in them.
void check_loaded(Journal& journal, Choices& choices, const SourceState& source, Model model) {
  std::size_t taken = 0;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t offset = choices.number<std::uint16_t>() * 16ull % (source.size + 1);
    const std::uint64_t length =
        std::min<std::uint64_t>(choices.number<std::uint16_t>() * 16ull, source.size - offset);
    if (length == 0) continue;
    require(journal.holds(offset, length) == model.holds(offset, length));
    const bool confirms = choices.flag();
    while (const auto record = journal.take_doubtful(offset, length)) {
      require(++taken <= model.doubtful && record->length > 0);
      require(record->offset < offset + length && record->offset + record->length > offset);
      require(record->offset + record->length <= source.size);
      if (!confirms) continue;
      journal.confirm(*record);
      model.there.push_back({record->offset, record->length});
      require(journal.holds(record->offset, record->length));
    }
  }
}

void load_made_up(Bytes input) {
  Choices choices(input);
  SourceState source;
  source.size = choices.flag() ? choices.number<std::uint16_t>() * 64ull
                               : choices.number<std::uint64_t>() >> 1;  // as an off_t has it
  source.token.bytes[0] = static_cast<std::byte>(choices.number<std::uint8_t>());
  const bool other_name = choices.below(16) == 15;
  std::vector<std::byte> file = header_of(source, other_name ? "other" : kName);
  Model model;
  for (std::size_t i = choices.below(kRecordsMost); i > 0; --i) put_record(file, choices, source, model);
  const std::string_view torn = choices.piece();  // a last record that was cut short
  const Bytes rest = bytes_of(torn).first(std::min(torn.size(), Journal::kRecordBytes - 1));
  file.insert(file.end(), rest.begin(), rest.end());

  const io::Fd memory = memory_file(file);
  Journal journal(io::Fd(::dup(memory.get())), kName, kStamp);
  require(journal.name_in_header() == (other_name ? "other" : kName) && journal.part_inode() == kInode);
  const bool loaded = journal.load(source, kInode, false);
  require(loaded == !other_name);
  if (!loaded) return;
  require(journal.has_any() == (!model.there.empty() || model.doubtful > 0));
  check_loaded(journal, choices, source, model);

  // What is added is found by the next run, but without its stamp it is in doubt.
  if (source.size == 0) return;
  journal.add(0, source.size, io::Digest{});
  Journal next(io::Fd(::dup(memory.get())), kName, kStamp);
  require(next.load(source, kInode, false) && next.holds(0, source.size));
  Journal stranger(io::Fd(::dup(memory.get())), kName);
  require(stranger.load(source, kInode, false) && !stranger.holds(0, source.size));
  require(stranger.take_doubtful(0, source.size).has_value());
}

}  // namespace

void fuzz_journal(Bytes input) {
  Journal journal(memory_file(input), kName, kStamp);
  require(journal.name_in_header().size() <= NAME_MAX);
  SourceState source;
  source.size = 1 << 20;
  if (journal.load(source, journal.part_inode().value_or(0), false))
    require(input.size() >= Journal::kHeaderBytes);
  (void)journal.take_doubtful(0, source.size);
  load_made_up(input);
}

}  // namespace rdcp::fuzz
