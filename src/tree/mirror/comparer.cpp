#include "tree/mirror/comparer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <utility>

#include "io/content_digest.h"
#include "tree/fs/beneath.h"
#include "tree/meta/acl.h"
#include "tree/mirror/make_way.h"

namespace rdcp::tree {

using io::Result;

namespace {

constexpr std::uint32_t kSetIdBits = S_ISUID | S_ISGID;

EntryType type_in_line(const Question& question) {
  return question.entry.type == EntryType::hard_link ? question.linked : question.entry.type;
}

char type_letter(EntryType type) {
  switch (type) {
    case EntryType::directory:
      return 'd';
    case EntryType::symlink:
      return 'L';
    case EntryType::fifo:
    case EntryType::socket:
      return 'S';
    case EntryType::char_device:
    case EntryType::block_device:
      return 'D';
    default:
      return 'f';
  }
}

std::string new_code(const Question& question) {
  const EntryType type = question.entry.type;
  std::string code = type == EntryType::file ? ">" : type == EntryType::hard_link ? "h" : "c";
  return code + type_letter(type_in_line(question)) + "+++++++++";
}

// `there` is what a filesystem with coarser times keeps of `source`. That it has such is shown by the inode's
// own ctime, which nobody can set.
bool same_but_coarser(std::uint32_t source, std::uint32_t there, std::uint32_t ctime) {
  constexpr std::array<std::uint32_t, 4> kUnits{100, 1'000, 10'000'000, 1'000'000'000};
  return std::ranges::any_of(
      kUnits, [&](std::uint32_t unit) { return ctime % unit == 0 && source - source % unit == there; });
}

}  // namespace

Comparer::Comparer(int root, std::string root_name, RemovalGate& gate, const MetadataPolicy& policy,
                   NameTable& names)
    : root_(root),
      root_name_(std::move(root_name)),
      gate_(gate),
      sync_(gate.sync()),
      policy_(policy),
      names_(names),
      held_(root),
      is_root_(::geteuid() == 0) {
  const int count = ::getgroups(0, nullptr);
  our_groups_.resize(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0 && ::getgroups(count, our_groups_.data()) < 0) our_groups_.clear();
  our_groups_.push_back(::getegid());
  struct statfs filesystem {};
  two_seconds_ = ::fstatfs(root, &filesystem) == 0 && filesystem.f_type == MSDOS_SUPER_MAGIC;
}

Result<std::optional<Comparer::Found>> Comparer::find(EntryPathView path) {
  Found found;
  const auto missing = [](int code) { return code == ENOENT || code == ENOTDIR; };
  if (path.empty()) {
    if (::fstat(root_, &found.status) != 0) return io::errno_error("stat", root_name_);
    return std::optional(std::move(found));
  }
  std::string_view parent = path.parent().text();
  parent.remove_prefix(std::min(strips_, parent.size()));
  found.directory = held_.open(parent);
  if (found.directory < 0) {
    // The entry in the way of its directory is left alone, so it cannot be put there.
    const bool blocked = errno == ENOTDIR && sync_.ignore_existing;
    if (!blocked && missing(errno)) return std::optional<Found>();
    return io::errno_error("open directory", join_path(root_name_, parent));
  }
  found.name = path.name();
  const auto look = [&] {
    return ::fstatat(found.directory, found.name.c_str(), &found.status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (!look() && !(errno == EACCES && held_.open_up(found.directory, parent) && look())) {
    if (missing(errno)) return std::optional<Found>();
    return io::errno_error("stat", join_path(root_name_, path.text()));
  }
  return std::optional(std::move(found));
}

Result<Verdict> Comparer::compare(const Question& question, std::vector<Change>& changes) {
  auto found = find(question.entry.path);
  if (!found) return std::move(found).error();
  const bool is_directory = question.entry.type == EntryType::directory;
  if (is_left_alone(question, *found)) return is_directory ? Verdict::equal : Verdict::refused;
  if (is_directory) return compare_directory(question, *found, changes);
  return compare_other(question, *found, changes);
}

bool Comparer::has_metadata_of(const Entry& entry) {
  Question question;
  question.entry = entry;
  question.xattrs = digest_of_xattrs(entry);
  const auto found = find(entry.path);
  if (!found || !*found || type_of((*found)->status.st_mode) != entry.type) return false;
  question.entry.size = static_cast<std::uint64_t>((*found)->status.st_size);
  const auto differences = metadata_differences(question, **found);
  return differences && !differences->any();
}

std::optional<Comparer::Twin> Comparer::find_twin(const Question& question) {
  if (question.entry.type != EntryType::file) return std::nullopt;
  auto found = find(question.entry.path);
  if (!found || !*found || !S_ISREG((*found)->status.st_mode)) return std::nullopt;
  if (opens_content(question, **found)) {
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    (*found)->content.reset(::openat((*found)->directory, (*found)->name.c_str(), kFlags));
  }
  const auto differences = metadata_differences(question, **found);
  if (!differences || differences->any()) return std::nullopt;
  const auto same = has_content(question, **found);
  if (!same || !*same) return std::nullopt;
  return Twin{(*found)->directory, (*found)->name, (*found)->status};
}

// By --existing, --ignore-existing and --update.
bool Comparer::is_left_alone(const Question& question, const std::optional<Found>& found) const {
  if (!found) return sync_.existing;
  const Entry& entry = question.entry;
  const bool both_directories = entry.type == EntryType::directory && S_ISDIR(found->status.st_mode);
  if (sync_.ignore_existing && !both_directories) return true;
  if (!sync_.update || type_in_line(question) != EntryType::file || !S_ISREG(found->status.st_mode)) {
    return false;
  }
  // Times within the window are the same, so the window need not be added to a peer's number.
  const timespec& here = found->status.st_mtim;
  const auto source = std::pair(entry.mtime.seconds, static_cast<long>(entry.mtime.nanoseconds));
  return !same_time(entry.mtime, found->status) &&
         std::pair(std::int64_t{here.tv_sec}, here.tv_nsec) > source;
}

Result<Verdict> Comparer::compare_directory(const Question& question, const std::optional<Found>& found,
                                            std::vector<Change>& changes) {
  if (!found || !S_ISDIR(found->status.st_mode)) {
    tell(changes, question, new_code(question));
    return Verdict::different;
  }
  const auto differences = metadata_differences(question, *found);
  if (!differences) return differences.error();
  if (!differences->any()) return Verdict::equal;
  std::string code = ".d.........";
  code[4] = differences->mtime ? 't' : '.';
  code[5] = differences->mode ? 'p' : '.';
  code[6] = differences->owner ? 'o' : '.';
  code[7] = differences->group ? 'g' : '.';
  code[9] = differences->acl ? 'a' : '.';
  code[10] = differences->xattrs ? 'x' : '.';
  tell(changes, question, code);
  return Verdict::metadata;
}

// A directory stands where the source has something else.
Result<Verdict> Comparer::make_way(const Question& question, const Found& found,
                                   std::vector<Change>& changes) {
  const EntryPath& path = question.entry.path;
  const DirectoryInTheWay place{found.directory, found.name, path, join_path(root_name_, path)};
  const auto reserved = reserve_way(gate_, place, sync_.tells() ? &changes : nullptr);
  if (!reserved) return reserved.error();
  tell(changes, question, new_code(question));
  return Verdict::different;
}

Result<Verdict> Comparer::compare_other(const Question& question, std::optional<Found>& found,
                                        std::vector<Change>& changes) {
  const Entry& entry = question.entry;
  if (found && S_ISDIR(found->status.st_mode)) return make_way(question, *found, changes);
  if (!found && entry.type == EntryType::file && supplied && supplied(question)) return Verdict::equal;
  if (!found || type_of(found->status.st_mode) != type_in_line(question)) {
    tell(changes, question, new_code(question));
    return Verdict::different;
  }
  const bool is_file = entry.type == EntryType::file;
  if (is_file && opens_content(question, *found)) {
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    found->content.reset(::openat(found->directory, found->name.c_str(), kFlags));
  }
  auto differences = metadata_differences(question, *found);
  if (!differences) return std::move(differences).error();
  bool same = true;
  if (is_file) {
    auto content = has_content(question, *found);
    if (!content) return std::move(content).error();
    same = *content;
    differences->content = !same && sync_.checksum;
  } else if (entry.type != EntryType::hard_link) {
    same = says_the_same(question, *found);
    differences->content = !same;
  }
  std::string code = std::string(same ? "." : is_file ? ">" : "c") + type_letter(type_in_line(question));
  code += differences->content ? 'c' : '.';
  code += differences->size ? 's' : '.';
  code += differences->mtime ? 't' : '.';
  code += differences->mode ? 'p' : '.';
  code += differences->owner ? 'o' : '.';
  code += differences->group ? 'g' : '.';
  code += '.';
  code += differences->acl ? 'a' : '.';
  code += differences->xattrs ? 'x' : '.';
  if (entry.type == EntryType::hard_link) {
    return compare_hard_link(question, *found, change_of(question, code), changes);
  }
  if (same && !differences->any()) return Verdict::equal;
  tell(changes, question, code);
  // Another name of this inode may be a file of its own at the source: it must not change with this one.
  const bool alone = found->status.st_nlink == 1;
  return same && alone ? Verdict::metadata : Verdict::different;
}

Result<Verdict> Comparer::compare_hard_link(const Question& question, const Found& found,
                                            const Change& change, std::vector<Change>& changes) {
  if (!question.first_changes) {
    const struct stat status = found.status;
    const auto first = find(question.entry.first_name);
    if (!first) return first.error();
    const bool one =
        *first && (*first)->status.st_dev == status.st_dev && (*first)->status.st_ino == status.st_ino;
    if (one) return Verdict::equal;
  }
  Change told = change;
  told.code[0] = 'h';
  told.code.replace(2, 9, 9, ' ');  // its metadata are those of its first name, which has its own line
  if (sync_.tells()) changes.push_back(std::move(told));
  return Verdict::different;
}

// Compares two files by the rule that the user chose.
bool Comparer::opens_content(const Question& question, const Found& found) const {
  return sync_.checksum && !sync_.ignore_times && question.content.has_value() &&
         static_cast<std::uint64_t>(found.status.st_size) == question.entry.size;
}

Result<bool> Comparer::has_content(const Question& question, const Found& found) {
  const Entry& entry = question.entry;
  if (static_cast<std::uint64_t>(found.status.st_size) != entry.size || sync_.ignore_times) return false;
  if (sync_.checksum) {
    if (!found.content) return false;
    const auto here = io::digest_of_file(found.content.get(), entry.size, buffer_, going);
    return here && *here == *question.content;
  }
  return sync_.size_only || same_time(entry.mtime, found.status);
}

bool Comparer::says_the_same(const Question& question, const Found& found) const {
  const Entry& entry = question.entry;
  if (entry.type == EntryType::char_device || entry.type == EntryType::block_device) {
    return found.status.st_rdev == entry.device;
  }
  if (entry.type != EntryType::symlink) return true;
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(found.directory, found.name.c_str(), target, sizeof target);
  return length >= 0 && std::string_view(target, static_cast<std::size_t>(length)) == entry.link_target;
}

bool Comparer::same_time(const Timestamp& source, const struct stat& status) const {
  const timespec& here = status.st_mtim;
  // Without a sign the difference of any two times can be represented.
  const bool is_later = source.seconds >= here.tv_sec;
  const auto source_seconds = static_cast<std::uint64_t>(source.seconds);
  const auto here_seconds = static_cast<std::uint64_t>(here.tv_sec);
  const std::uint64_t apart = is_later ? source_seconds - here_seconds : here_seconds - source_seconds;
  if (sync_.modify_window_s > 0) return apart <= sync_.modify_window_s;
  const auto there = static_cast<std::uint32_t>(here.tv_nsec);
  if (is_later && apart == 1 && two_seconds_ && there == 0 && here.tv_sec % 2 == 0) return true;
  const auto ctime = static_cast<std::uint32_t>(status.st_ctim.tv_nsec);
  return apart == 0 && (source.nanoseconds == there || same_but_coarser(source.nanoseconds, there, ctime));
}

bool Comparer::may_give_to(std::uint32_t gid) const {
  return is_root_ || std::ranges::find(our_groups_, gid) != our_groups_.end();
}

// Metadata that cannot be set here do not count as a difference, because they would differ for ever.
Result<Comparer::Differences> Comparer::metadata_differences(const Question& question, const Found& found) {
  const Entry& entry = question.entry;
  const struct stat& here = found.status;
  const EntryType type = type_in_line(question);
  Differences differences;
  differences.size = type == EntryType::file && entry.type == EntryType::file &&
                     static_cast<std::uint64_t>(here.st_size) != entry.size;
  differences.mtime = !same_time(entry.mtime, here);
  std::uint32_t uid = entry.uid;
  std::uint32_t gid = entry.gid;
  if (!policy_.numeric_ids) {
    if (!entry.user.empty()) uid = names_.user_id(entry.user).value_or(uid);
    if (!entry.group.empty()) gid = names_.group_id(entry.group).value_or(gid);
  }
  bool owner_kept = uid == here.st_uid && gid == here.st_gid;
  if (policy_.owner) {
    differences.owner = is_root_ && uid != here.st_uid;
    differences.group = gid != here.st_gid && may_give_to(gid);
    owner_kept = owner_kept || is_root_ || (uid == here.st_uid && may_give_to(gid));
  }
  const std::uint32_t wanted = owner_kept ? entry.mode : entry.mode & ~kSetIdBits;
  differences.mode = type != EntryType::symlink && (here.st_mode & 07777) != wanted;
  if (!policy_.xattrs) return differences;
  const auto compared = compare_attributes(question, found, differences);
  return compared ? Result<Differences>(differences) : Result<Differences>(compared.error());
}

// Xattrs and ACLs.
Result<void> Comparer::compare_attributes(const Question& question, const Found& found,
                                          Differences& differences) {
  const Entry& entry = question.entry;
  const bool asked =
      question.xattrs != io::Digest{} || !entry.access_acl.empty() || !entry.default_acl.empty();
  const bool is_top = found.directory < 0;
  const char* name = is_top ? "." : found.name.c_str();
  const int directory = is_top ? root_ : found.directory;
  const bool any = asked || (found.content ? may_have_xattrs(found.content.get(), policy_)
                                           : may_have_xattrs(directory, name, policy_));
  if (!any) return {};
  const io::Fd fd(::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  Entry own;
  own.path = entry.path;
  const std::string subject = join_path(root_name_, entry.path);
  if (!fd) return io::errno_error("open", subject);
  const MetadataPolicy by_number{.owner = policy_.owner, .xattrs = true, .numeric_ids = true};
  auto read = read_xattrs(fd.get(), true, by_number, names_, own);
  if (!read) return io::about(subject, std::move(read).error());
  std::vector<AclLine> access = entry.access_acl;
  std::vector<AclLine> initial = entry.default_acl;
  if (!policy_.numeric_ids) {
    map_ids(access, names_);
    map_ids(initial, names_);
  }
  const auto acl_differs = [](std::vector<AclLine> a, std::vector<AclLine> b) {
    return a.empty() != b.empty() || (!a.empty() && format_acl(std::move(a)) != format_acl(std::move(b)));
  };
  // These say what the mode says.
  const auto in_mode = [](const AclLine& line) {
    return line.tag == AclLine::Tag::user_obj || line.tag == AclLine::Tag::mask ||
           line.tag == AclLine::Tag::other;
  };
  if (!access.empty() && !own.access_acl.empty()) {
    std::erase_if(access, in_mode);
    std::erase_if(own.access_acl, in_mode);
  }
  differences.xattrs = digest_of_xattrs(own) != question.xattrs;
  differences.acl = acl_differs(access, own.access_acl) || acl_differs(initial, own.default_acl);
  return {};
}

void Comparer::tell(std::vector<Change>& changes, const Question& question, std::string code) const {
  if (sync_.tells()) changes.push_back(change_of(question, std::move(code)));
}

Change Comparer::change_of(const Question& question, std::string code) const {
  const Entry& entry = question.entry;
  Change change{std::move(code), gate_.below_destination(entry.path), ""};
  if (entry.type == EntryType::directory) {
    change.path += '/';
  } else if (change.path == ".") {
    const std::string_view path = entry.path;  // DST is this file, and has no name within itself
    change.path = path.substr(path.rfind('/') + 1);
  }
  if (entry.type == EntryType::symlink) change.target = entry.link_target;
  if (entry.type == EntryType::hard_link) change.target = gate_.below_destination(entry.first_name);
  return change;
}

}  // namespace rdcp::tree
