#include "tests/fuzz/sessions/frame_maker.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/fuzz/tar_checksums.h"
#include "tests/net/stream/raw_frame.h"
#include "tree/archive/archive.h"
#include "tree/pages/names_page.h"
#include "tree/pages/probe.h"

namespace rdcp::fuzz {

using net::Frame;
using net::FrameKind;
using tree::Entry;
using tree::EntryPath;
using tree::EntryType;
using tree::Probe;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::array<std::string_view, 24> kNames = {
    "a",    "b",   "dir",  "old", "big", "part",  "link", "dirlink", "filelink", "abs", "fifo", "hard",
    "loop", "new", "a\nb", "c:d", "DIR", "tab\t", "keep", "dir/x",   "..",       ".",   "",     "\xff\xfe"};
constexpr std::size_t kHarmlessNames = 18;  // the first ones

}  // namespace

std::string big_content() {
  std::string bytes(kBigBytes, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
  return bytes;
}

io::Digest part_token() {
  io::Digest token;
  token.bytes[0] = std::byte{9};
  return token;
}

// In bytes, since encode() takes only what decode() gives.
bool is_well_formed(const Frame& frame) {
  constexpr std::uint32_t kMagic = 0x52464452;  // "RDFR"
  net::FrameBytes bytes{};
  io::store_le(bytes.data(), kMagic);
  bytes[4] = static_cast<std::byte>(frame.kind);
  bytes[5] = static_cast<std::byte>(frame.flags);
  io::store_le(bytes.data() + 12, frame.length);
  io::store_le(bytes.data() + 16, frame.file_id);
  io::store_le(bytes.data() + 24, frame.offset);
  std::ranges::copy(frame.digest.bytes, bytes.begin() + 32);
  std::ranges::copy(frame.extra.bytes, bytes.begin() + 48);
  net::reseal(bytes);
  return net::decode(bytes).ok();
}

std::string FrameMaker::name() {
  const auto chosen = choices_.number<std::uint8_t>();
  if (chosen == 0xff) return std::string(choices_.piece());
  if (chosen == 0xfe) return std::string(200 + choices_.below(64), 'n');
  return std::string(kNames[chosen < 0xf0 ? chosen % kHarmlessNames : chosen % kNames.size()]);
}

std::string FrameMaker::path() {
  std::string path = seldom() ? "" : agreed_.landing;
  for (std::size_t depth = 1 + choices_.below(8) / 5; depth > 0; --depth) {
    if (!path.empty()) path += '/';
    path += name();
  }
  return path;
}

Entry FrameMaker::file_entry(const std::string& path) {
  Entry entry;
  entry.path = EntryPath::of_own(path);
  entry.mode = 0644;
  entry.mtime = {1'600'000'000, 5};
  return entry;
}

void FrameMaker::add_acl(Entry& entry) {
  using Tag = tree::AclLine::Tag;
  entry.access_acl = {{Tag::user_obj, 7, 0, ""}, {Tag::group_obj, 5, 0, ""}, {Tag::other, 5, 0, ""}};
  for (std::size_t i = choices_.below(3); i > 0; --i) {
    entry.access_acl.push_back(
        {static_cast<Tag>(choices_.below(6)), static_cast<std::uint8_t>(choices_.below(8)),
         choices_.number<std::uint32_t>(), std::string(choices_.piece().substr(0, 20))});
  }
  if (choices_.flag() && entry.type == EntryType::directory) entry.default_acl = entry.access_acl;
}

Entry FrameMaker::entry() {
  Entry entry = file_entry(path());
  const auto kind = choices_.number<std::uint8_t>();
  entry.type = kind < 128 ? static_cast<EntryType>(kind % 4) : static_cast<EntryType>(kind % 8);
  const auto odd = choices_.number<std::uint8_t>();
  if ((odd & 1) != 0) entry.mode = choices_.number<std::uint16_t>() & 07777;
  if ((odd & 2) != 0) entry.uid = choices_.number<std::uint32_t>(), entry.user = choices_.piece();
  if ((odd & 4) != 0) entry.gid = choices_.number<std::uint32_t>(), entry.group = choices_.piece();
  if ((odd & 8) != 0)
    entry.mtime = {choices_.number<std::int64_t>(), choices_.number<std::uint32_t>() % 1'000'000'000};
  if ((odd & 16) != 0) add_acl(entry);
  if ((odd & 32) != 0) entry.xattrs.push_back({"user." + name(), std::string(choices_.piece())});
  if ((odd & 64) != 0) entry.attributes_only = true;
  if ((odd & 128) != 0 && entry.type == EntryType::symlink) entry.link_target = choices_.piece();
  if (entry.type == EntryType::symlink && entry.link_target.empty()) {
    const std::array<std::string, 6> targets = {outside_, outside_ + "/file", "../canary", "..", "dir",
                                                "loop"};
    entry.link_target = targets[choices_.below(targets.size())];
  }
  if (entry.type == EntryType::hard_link) entry.first_name = EntryPath::of_own(path());
  if (entry.type == EntryType::char_device || entry.type == EntryType::block_device) entry.device = 0x103;
  return entry;
}

std::vector<std::byte> FrameMaker::content(std::size_t bytes) {
  const std::byte fill{choices_.number<std::uint8_t>()};
  std::vector<std::byte> content(bytes, fill);
  if (fill != std::byte{1}) return content;
  static const std::string big = big_content();  // as the old file has it
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(big[i % big.size()]);
  return content;
}

std::vector<std::byte> FrameMaker::archive_of(std::vector<Entry> entries) {
  std::vector<std::byte> slot(kSlotBytes);
  tree::ArchiveWriter writer;
  writer.begin(slot);
  for (Entry& entry : entries) {
    const std::size_t bytes = entry.type == EntryType::file ? entry.size : 0;
    (void)writer.add(entry, content(bytes)).ok();
  }
  const auto length = writer.finish();
  slot.resize(length ? *length : 1);
  return slot;
}

// Changes some bytes, with right checks over them: a target must not rely on what an honest source writes.
void FrameMaker::damage(std::vector<std::byte>& payload, bool archive) {
  for (std::size_t i = now_and_then() ? 1 + choices_.below(6) : 0; i > 0 && !payload.empty(); --i) {
    payload[choices_.number<std::uint16_t>() % payload.size()] = std::byte{choices_.number<std::uint8_t>()};
  }
  if (archive) mend_checksums(payload);
}

std::uint64_t FrameMaker::any_offset() {
  const auto kind = choices_.number<std::uint8_t>();
  if (kind < 200) return kind % 10 * std::uint64_t{kPage};
  return kind < 250 ? choices_.number<std::uint16_t>() : choices_.number<std::uint64_t>() >> 1;
}

void FrameMaker::make_archive(Sent& sent) {
  sent.frame.kind = FrameKind::archive;
  std::vector<Entry> entries;
  for (std::size_t i = 1 + choices_.below(6); i > 0; --i) {
    entries.push_back(entry());
    Entry& last = entries.back();
    if (last.type == EntryType::file && !last.attributes_only) last.size = choices_.number<std::uint8_t>();
    if (last.type == EntryType::file && last.size > 250) {
      last.size = kBigBytes;
      if (choices_.flag()) last.data = {{kPage, kPage}, {2 * kPage, 10}};
    }
  }
  sent.payload = archive_of(entries);
  damage(sent.payload, true);
}

// Mostly the last one that was opened.
std::uint64_t FrameMaker::open_file() {
  return now_and_then() || files_.empty() ? choices_.below(6) : files_.rbegin()->first;
}

std::uint8_t FrameMaker::perhaps_again() {
  return (lost_ ? choices_.flag() : seldom()) ? net::kFlagAgain : 0;
}

void FrameMaker::make_open(Sent& sent) {
  sent.frame.kind = FrameKind::open;
  sent.frame.file_id = now_and_then() ? choices_.below(6) : next_file_++;
  constexpr std::array<std::uint64_t, 8> kSizes = {
      kBigBytes, kBigBytes, kPartBytes, 3 * kPage, 1, 0, std::uint64_t{1} << 62, std::uint64_t{1} << 45};
  sent.frame.offset = kSizes[choices_.below(now_and_then() ? 8 : 7)];
  const auto kind = choices_.number<std::uint8_t>();
  if (sent.frame.offset >= kPartBytes || (kind & 8) != 0) sent.frame.extra = part_token();
  if (now_and_then()) sent.frame.extra.bytes[1] = std::byte{choices_.number<std::uint8_t>()};
  if ((kind & 7) == 1) sent.frame.flags = net::kFlagSparse;
  if ((kind & 7) == 2 && agreed_.probes) sent.frame.flags = net::kFlagCompare;
  sent.frame.flags |= perhaps_again();
  std::string where = path();
  const std::string_view known = sent.frame.offset == kPartBytes ? kPartName : kBigName;
  if ((kind & 0xc0) == 0) where = (agreed_.landing.empty() ? "" : agreed_.landing + "/") + std::string(known);
  files_[sent.frame.file_id] = {where, sent.frame.offset, {}, 0};
  sent.payload = archive_of({file_entry(where)});
  damage(sent.payload, true);
}

void FrameMaker::make_data(Sent& sent) {
  sent.frame.kind = FrameKind::data;
  sent.frame.file_id = open_file();
  Opened& file = files_[sent.frame.file_id];
  const bool in_order = !now_and_then();
  if (in_order && file.sent >= file.size) return make_commit(sent);
  sent.frame.offset = in_order ? file.sent : any_offset();
  const std::uint64_t left = file.size > sent.frame.offset ? file.size - sent.frame.offset : 1;
  const std::uint64_t most = now_and_then() ? choices_.number<std::uint16_t>() + 1u : kSlotBytes;
  sent.payload = content(std::min<std::uint64_t>({left, most, kSlotBytes}));
  file.digest.add(sent.frame.offset, sent.payload.size(), io::digest_of(sent.payload));
  file.sent = std::max(file.sent, sent.frame.offset + sent.payload.size());
  sent.frame.flags = perhaps_again();
}

void FrameMaker::make_commit(Sent& sent) {
  sent.frame.kind = FrameKind::commit;
  sent.frame.file_id = open_file();
  const Opened file = files_[sent.frame.file_id];
  if (!now_and_then()) files_.erase(sent.frame.file_id);
  const bool whole = choices_.flag() && file.size <= kPartBytes;
  sent.frame.offset = now_and_then() ? any_offset() : whole ? file.size : file.sent;
  sent.frame.extra = file.digest.value();
  if (now_and_then()) sent.frame.extra.bytes[0] ^= std::byte{1};
  sent.frame.flags = perhaps_again();
  Entry last = now_and_then() ? entry() : file_entry(file.path);
  if (choices_.below(4) == 3) last.mode = choices_.number<std::uint16_t>() & 07777;
  sent.payload = archive_of({last});
  damage(sent.payload, true);
}

void FrameMaker::make_compare(Sent& sent) {
  sent.frame.kind = FrameKind::compare;
  sent.frame.file_id = choices_.flag() ? turn_++ : choices_.number<std::uint8_t>();
  sent.frame.offset = choices_.flag() ? turn_ : choices_.number<std::uint8_t>();
  sent.payload.resize(kSlotBytes);
  tree::QuestionWriter writer;
  writer.begin(sent.payload);
  for (std::size_t i = 1 + choices_.below(6); i > 0; --i) {
    tree::Question question;
    question.entry = entry();
    question.entry.xattrs.clear();
    question.entry.attributes_only = false;
    if (question.entry.type == EntryType::file) question.entry.size = choices_.flag() ? kBigBytes : 3;
    if (question.entry.type == EntryType::file && choices_.flag()) {
      question.content = io::digest_of(bytes_of(choices_.flag() ? big_content() : "old"));
    }
    if (question.entry.type == EntryType::hard_link) question.first_changes = choices_.flag();
    if (choices_.below(8) == 7) question.xattrs.bytes[0] = std::byte{1};
    (void)writer.add(question);
  }
  sent.payload.resize(writer.finish());
  damage(sent.payload, false);
  sent.frame.flags = perhaps_again();
}

void FrameMaker::make_names(Sent& sent) {
  sent.frame.kind = FrameKind::names;
  sent.frame.file_id = choices_.flag() ? turn_++ : choices_.number<std::uint8_t>();
  sent.frame.offset = choices_.flag() ? turn_ : 0;
  sent.payload.resize(kSlotBytes);
  tree::NamesWriter writer;
  if (choices_.flag()) {
    writer.begin_sums(sent.payload);
    for (std::size_t i = 1 + choices_.below(4); i > 0; --i) {
      tree::NameSum sum;
      for (std::size_t n = choices_.below(8); n > 0; --n) sum.add(kNames[choices_.below(kNames.size())]);
      (void)writer.add(
          {EntryPath::of_own(choices_.flag() ? agreed_.landing : path()), sum.count, sum.digest.value()});
    }
  } else {
    const std::uint32_t parts = choices_.below(4) == 3 ? 1 + choices_.number<std::uint8_t>() : 1;
    const auto part = static_cast<std::uint32_t>(choices_.below(parts));
    (void)writer.begin_names(sent.payload, choices_.flag() ? agreed_.landing : path(), parts, part);
    for (std::size_t n = choices_.below(24); n > 0; --n) {
      const std::string one = name();
      if (tree::part_of(one, parts) == part) (void)writer.add(one);
    }
  }
  sent.payload.resize(writer.finish());
  damage(sent.payload, false);
}

void FrameMaker::make_probe(Sent& sent) {
  sent.frame.kind = FrameKind::probe;
  sent.frame.file_id = open_file();
  Opened& file = files_[sent.frame.file_id];
  sent.frame.offset = now_and_then() ? any_offset() : file.sent;
  static const std::string big = big_content();
  const Bytes old = bytes_of(big).subspan(std::min<std::uint64_t>(sent.frame.offset, kBigBytes));
  const bool chunks = choices_.flag();
  const auto form = chunks ? Probe::Form::chunks : Probe::Form::blocks;
  const std::uint64_t size = kPage << choices_.below(3);
  const std::uint64_t left = file.size > sent.frame.offset ? file.size - sent.frame.offset : size;
  const std::size_t most = 1 + choices_.below(10);
  sent.payload.resize(Probe::bytes_of(form, most));
  std::uint64_t length = 0;
  std::size_t count = 0;
  for (; count < most && length < left; ++count) {
    const std::uint64_t wanted = chunks ? 1 + choices_.number<std::uint16_t>() % (2 * size) : size;
    const std::uint64_t piece = std::min(wanted, left - length);
    io::Digest digest;
    const bool known = length + piece <= old.size();
    if (choices_.below(4) != 3 && known) digest = io::digest_of(old.subspan(length, piece));
    chunks ? Probe::put_chunk(sent.payload, count, digest, piece)
           : Probe::put_digest(sent.payload, count, digest);
    // As if the target had it.
    file.digest.add(sent.frame.offset + length, piece, digest);
    length += piece;
  }
  sent.payload.resize(Probe::bytes_of(form, count));
  Probe::put_head(sent.payload, form, length, size);
  file.sent = std::max(file.sent, sent.frame.offset + length);
  damage(sent.payload, false);
  sent.frame.flags = perhaps_again();
}

void FrameMaker::make_ask(Sent& sent) {
  sent.frame.kind = FrameKind::ask;
  sent.frame.file_id = open_file();
  sent.frame.offset = now_and_then() ? any_offset() : 0;
  const std::uint64_t length =
      now_and_then() ? choices_.number<std::uint64_t>() : (1 + choices_.below(32)) * kPage;
  Probe::put_question(sent.frame.extra, length, kPage << choices_.below(3));
}

void FrameMaker::make_lost(Sent& sent) {
  sent.frame.kind = FrameKind::lost;
  sent.frame.offset = now_and_then() ? choices_.number<std::uint16_t>() : (sent.stream + 1) % agreed_.streams;
  lost_ = true;
}

// Any frame that has the right form.
void FrameMaker::make_raw(Sent& sent) {
  sent.frame.kind = static_cast<FrameKind>(1 + choices_.below(13));
  sent.frame.flags = choices_.number<std::uint8_t>() & 7;
  sent.frame.file_id = choices_.number<std::uint8_t>();
  sent.frame.offset = any_offset();
  const std::string_view extra = choices_.piece().substr(0, sent.frame.extra.bytes.size());
  std::ranges::copy(bytes_of(extra), sent.frame.extra.bytes.begin());
  sent.payload = exact_copy(bytes_of(choices_.long_piece()));
}

// One that the job agrees to, unless it is a rare one.
FrameMaker::Make FrameMaker::chosen_maker(std::uint8_t chosen) {
  constexpr std::array<Make, 16> kMakers = {
      &FrameMaker::make_archive, &FrameMaker::make_open,   &FrameMaker::make_data,
      &FrameMaker::make_data,    &FrameMaker::make_commit, &FrameMaker::make_commit,
      &FrameMaker::make_archive, &FrameMaker::make_open,   &FrameMaker::make_compare,
      &FrameMaker::make_compare, &FrameMaker::make_names,  &FrameMaker::make_names,
      &FrameMaker::make_probe,   &FrameMaker::make_probe,  &FrameMaker::make_ask,
      &FrameMaker::make_lost};
  if (seldom()) return chosen % 2 == 0 ? &FrameMaker::make_raw : kMakers[chosen % kMakers.size()];
  const std::size_t kind = chosen % kMakers.size();
  const bool agreed = kind < 8 || (kind < 10 && agreed_.syncs) ||
                      (kind >= 10 && kind < 12 && agreed_.deletes) ||
                      (kind >= 12 && kind < 14 && agreed_.probes) || (kind == 14 && agreed_.asks) ||
                      (kind == 15 && agreed_.streams > 1);
  const Make make = agreed ? kMakers[kind] : kMakers[kind - 8];
  const bool needs_file = make == &FrameMaker::make_data || make == &FrameMaker::make_commit ||
                          make == &FrameMaker::make_probe || make == &FrameMaker::make_ask;
  if (agreed_.one_at_a_time && !files_.empty() && make == &FrameMaker::make_open)
    return &FrameMaker::make_commit;
  return needs_file && files_.empty() && !now_and_then() ? &FrameMaker::make_open : make;
}

Sent FrameMaker::next() {
  Sent sent;
  const auto chosen = choices_.number<std::uint8_t>();
  sent.stream = (chosen >> 4) % agreed_.streams;
  sent.waits = (chosen & 0x80) == 0;
  (this->*chosen_maker(chosen))(sent);
  Frame& frame = sent.frame;
  if (!net::has_payload(frame.kind)) sent.payload.clear();
  frame.length = static_cast<std::uint32_t>(sent.payload.size());
  if (!sent.payload.empty()) frame.digest = io::digest_of(sent.payload);
  all_ += text_of(sent.payload);
  return sent;
}

}  // namespace rdcp::fuzz
