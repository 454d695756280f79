#include "tree/pages/compare.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "io/bytes.h"
#include "net/stream/frame.h"

namespace rdcp::tree {

namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kAclLinesMax = 4096;
constexpr std::size_t kShortMax = 255;

enum : std::uint8_t {
  kSameOwner = 1,
  kHasXattrs = 2,
  kHasContent = 4,
  kHasAcls = 8,
  kFirstChanges = 16,
  kAllFlags = 31,
};

// A short text has its length before it, in one byte. One that is too long is left out, as if it were
// unknown.
void put_short(io::ByteWriter& to, const std::string& text) {
  const std::string_view kept = text.size() > kShortMax ? std::string_view() : text;
  to.number(static_cast<std::uint8_t>(kept.size()));
  to.text(kept);
}

void put_acl(io::ByteWriter& to, const std::vector<AclLine>& lines) {
  to.number(static_cast<std::uint16_t>(lines.size()));
  for (const AclLine& line : lines) {
    to.number(static_cast<std::uint8_t>(line.tag));
    to.number(line.permissions);
    to.number(line.id);
    put_short(to, line.name);
  }
}

bool same_owner(const Entry& a, const Entry& b) {
  return a.uid == b.uid && a.gid == b.gid && a.user == b.user && a.group == b.group;
}

std::uint8_t flags_of(const Question& question, bool same_owner) {
  const Entry& entry = question.entry;
  unsigned flags = same_owner ? kSameOwner : 0;
  if (question.xattrs != io::Digest{}) flags |= kHasXattrs;
  if (question.content) flags |= kHasContent;
  if (!entry.access_acl.empty() || !entry.default_acl.empty()) flags |= kHasAcls;
  if (question.first_changes) flags |= kFirstChanges;
  return static_cast<std::uint8_t>(flags);
}

void put_type(io::ByteWriter& to, const Question& question) {
  const Entry& entry = question.entry;
  switch (entry.type) {
    case EntryType::file:
      return to.number(entry.size);
    case EntryType::hard_link:
      to.number(static_cast<std::uint8_t>(question.linked));
      to.number(static_cast<std::uint32_t>(entry.first_name.size()));
      return to.text(entry.first_name);
    case EntryType::symlink:
      to.number(static_cast<std::uint32_t>(entry.link_target.size()));
      return to.text(entry.link_target);
    case EntryType::char_device:
    case EntryType::block_device:
      return to.number(static_cast<std::uint64_t>(entry.device));
    default:
      return;
  }
}

bool fits_format(const Entry& entry) {
  return entry.path.size() <= kQuestionPathMax && entry.link_target.size() <= kQuestionPathMax &&
         entry.first_name.size() <= kQuestionPathMax && entry.access_acl.size() <= kAclLinesMax &&
         entry.default_acl.size() <= kAclLinesMax;
}

void take_short(io::ByteReader& from, std::string& to) {
  to = from.text(from.number<std::uint8_t>());
}

// `last` has the bytes of the path before, as far as they were sent, and receives those of this one.
const char* take_path(io::ByteReader& from, const AdmittedNames& names, std::string& last, EntryPath& path) {
  const auto shared = from.number<std::uint32_t>();
  const auto further = from.number<std::uint32_t>();
  if (shared > last.size()) return "a path that shares what is not there";
  if (further > kQuestionPathMax - shared) return "a path that is too long";
  last.resize(shared);
  last.append(from.text(further));
  return names.admit(last, path);
}

const char* take_owner(io::ByteReader& from, Entry& entry) {
  entry.uid = from.number<std::uint32_t>();
  entry.gid = from.number<std::uint32_t>();
  take_short(from, entry.user);
  take_short(from, entry.group);
  constexpr auto kNobody = std::numeric_limits<std::uint32_t>::max();  // chown(2): leave it
  return entry.uid == kNobody || entry.gid == kNobody ? "impossible owner" : nullptr;
}

const char* take_link(io::ByteReader& from, const AdmittedNames& names, Question& question) {
  Entry& entry = question.entry;
  if (entry.type == EntryType::hard_link) {
    question.linked = static_cast<EntryType>(from.number<std::uint8_t>());
    if (question.linked > EntryType::block_device || question.linked == EntryType::directory ||
        question.linked == EntryType::hard_link) {
      return "a hard link to nothing that can be linked";
    }
  }
  const auto length = from.number<std::uint32_t>();
  if (length == 0 || length > kQuestionPathMax) return "a link target of impossible length";
  const std::string_view target = from.text(length);
  if (entry.type == EntryType::hard_link) {
    return names.admit(target, entry.first_name) != nullptr ? "unsafe hard link" : nullptr;
  }
  entry.link_target = target;
  return target.find('\0') != std::string_view::npos ? "NUL in a link target" : nullptr;
}

const char* take_acl(io::ByteReader& from, std::vector<AclLine>& lines) {
  const auto count = from.number<std::uint16_t>();
  if (count > kAclLinesMax) return "an ACL that is too long";
  for (std::size_t i = 0; i < count && !from.cut(); ++i) {
    AclLine& line = lines.emplace_back();
    line.tag = static_cast<AclLine::Tag>(from.number<std::uint8_t>());
    line.permissions = from.number<std::uint8_t>();
    line.id = from.number<std::uint32_t>();
    take_short(from, line.name);
    if (line.tag > AclLine::Tag::other || line.permissions > 7) return "impossible line in an ACL";
  }
  return nullptr;
}

io::Error bad_page(const char* fault) {
  return io::plain_error(io::ErrorKind::protocol, "compare", "a page of entries", fault);
}

}  // namespace

void QuestionWriter::begin(std::span<std::byte> slot) {
  assert(slot.size() > kHeaderBytes);
  slot_ = slot;
  to_ = io::ByteWriter(slot);
  to_.number(std::uint32_t{0});  // finish() puts the count here
  count_ = 0;
  path_.clear();
  owner_ = {};
}

bool QuestionWriter::add(const Question& question) {
  const Entry& entry = question.entry;
  if (count_ == net::Verdicts::kCount || !fits_format(entry)) return false;
  const bool owner_known = count_ > 0 && same_owner(entry, owner_);
  const std::uint8_t flags = flags_of(question, owner_known);
  const auto differs = std::ranges::mismatch(entry.path.text(), path_).in1;
  const auto shared = static_cast<std::size_t>(differs - entry.path.text().begin());
  io::ByteWriter to = to_;
  to.number(static_cast<std::uint8_t>(entry.type));
  to.number(flags);
  to.number(static_cast<std::uint32_t>(shared));
  to.number(static_cast<std::uint32_t>(entry.path.size() - shared));
  to.text(std::string_view(entry.path).substr(shared));
  to.number(static_cast<std::uint16_t>(entry.mode));
  if (!owner_known) {
    to.number(entry.uid);
    to.number(entry.gid);
    put_short(to, entry.user);
    put_short(to, entry.group);
  }
  to.number(static_cast<std::uint64_t>(entry.mtime.seconds));
  to.number(entry.mtime.nanoseconds);
  put_type(to, question);
  if ((flags & kHasXattrs) != 0) to.digest(question.xattrs);
  if ((flags & kHasContent) != 0) to.digest(*question.content);
  if ((flags & kHasAcls) != 0) {
    put_acl(to, entry.access_acl);
    put_acl(to, entry.default_acl);
  }
  if (to.full()) return false;
  to_ = to;
  path_ = entry.path.text();
  if (!owner_known) {
    owner_.uid = entry.uid;
    owner_.gid = entry.gid;
    owner_.user = entry.user;
    owner_.group = entry.group;
  }
  ++count_;
  return true;
}

std::size_t QuestionWriter::finish() {
  io::store_le(slot_.data(), static_cast<std::uint32_t>(count_));
  return to_.used();
}

io::Result<void> QuestionReader::open(std::span<const std::byte> page) {
  if (page.size() < kHeaderBytes) return bad_page("too short");
  left_ = io::load_le<std::uint32_t>(page.data());
  rest_ = page.subspan(kHeaderBytes);
  last_path_.clear();
  if (left_ == 0 || left_ > net::Verdicts::kCount) return bad_page("impossible number of entries");
  return {};
}

io::Result<bool> QuestionReader::next(Question& question) {
  if (left_ == 0) {
    if (!rest_.empty()) return bad_page("more after its end");
    return false;
  }
  --left_;
  if (const char* fault = take(question)) return bad_page(fault);
  return true;
}

const char* QuestionReader::take(Question& question) {
  io::ByteReader from(rest_);
  Entry& entry = question.entry;
  const auto type = from.number<std::uint8_t>();
  const auto flags = from.number<std::uint8_t>();
  if (type > static_cast<std::uint8_t>(EntryType::block_device)) return "unknown type";
  if ((flags & ~kAllFlags) != 0) return "undefined flags";
  entry.type = static_cast<EntryType>(type);
  if (const char* fault = take_path(from, names_, last_path_, entry.path)) return fault;
  if (entry.path.empty() && entry.type != EntryType::directory) return "no path";
  entry.mode = from.number<std::uint16_t>();
  if (entry.mode > 07777) return "impossible mode";
  if ((flags & kSameOwner) == 0) {
    if (const char* fault = take_owner(from, entry)) return fault;
  }
  entry.mtime.seconds = static_cast<std::int64_t>(from.number<std::uint64_t>());
  entry.mtime.nanoseconds = from.number<std::uint32_t>();
  if (entry.mtime.nanoseconds >= 1'000'000'000) return "impossible time";
  entry.size = entry.type == EntryType::file ? from.number<std::uint64_t>() : 0;
  entry.link_target.clear();
  entry.first_name.clear();
  const bool link = entry.type == EntryType::symlink || entry.type == EntryType::hard_link;
  if (const char* fault = link ? take_link(from, names_, question) : nullptr) return fault;
  const bool node = entry.type == EntryType::char_device || entry.type == EntryType::block_device;
  entry.device = node ? from.number<std::uint64_t>() : 0;
  question.first_changes = (flags & kFirstChanges) != 0;
  if (question.first_changes && entry.type != EntryType::hard_link)
    return "flags of a hard link on something else";
  question.xattrs = (flags & kHasXattrs) != 0 ? from.digest() : io::Digest{};
  question.content.reset();
  if ((flags & kHasContent) != 0) {
    if (entry.type != EntryType::file) return "content where none is allowed";
    question.content = from.digest();
  }
  entry.access_acl.clear();
  entry.default_acl.clear();
  if ((flags & kHasAcls) != 0) {
    if (const char* fault = take_acl(from, entry.access_acl)) return fault;
    if (const char* fault = take_acl(from, entry.default_acl)) return fault;
  }
  if (from.cut()) return "it is cut short";
  rest_ = from.rest();
  return nullptr;
}

io::Digest digest_of_xattrs(const Entry& entry) {
  if (entry.xattrs.empty()) return {};
  std::vector<const Xattr*> sorted;
  for (const Xattr& xattr : entry.xattrs) sorted.push_back(&xattr);
  std::ranges::sort(sorted, {}, [](const Xattr* xattr) -> const std::string& { return xattr->name; });
  std::string text;
  for (const Xattr* xattr : sorted) {
    text += xattr->name + '\0' + std::to_string(xattr->value.size()) + ':' + xattr->value;
  }
  return io::digest_of(std::as_bytes(std::span(text)));
}

}  // namespace rdcp::tree
