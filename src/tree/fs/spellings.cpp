#include "tree/fs/spellings.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <climits>
#include <clocale>
#include <cstring>
#include <cwchar>
#include <cwctype>
#include <span>

#include "io/fd.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {
namespace {

constexpr decltype(statfs::f_type) kExfatMagic = 0x2011BAB0;

bool is_found_in_upper_case(int root, const std::string& name) {
  struct stat status {};
  return ::fstatat(root, fold_case(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// Tries it with a file that is there only for that.
bool new_name_is_found_in_upper_case(int root) {
  io::Fd file;
  const std::string name = take_temporary_name("case", [&](const char* free) {
    file.reset(::openat(root, free, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return file.get();
  });
  if (name.empty()) return false;
  const bool found = is_found_in_upper_case(root, name);
  (void)remove_own(root, name);  // if it stays, `rdcp --clean` finds it
  return found;
}

// True for filesystems that never tell upper from lower case, and for directories that were set not to
// (chattr(1), +F). On all others it is tried whether a name that surely exists is also found in upper case.
bool takes_cases_for_one(int root, const std::string& own_name, bool may_make) {
  struct statfs filesystem {};
  if (::fstatfs(root, &filesystem) == 0 &&
      (filesystem.f_type == MSDOS_SUPER_MAGIC || filesystem.f_type == kExfatMagic)) {
    return true;
  }
  int flags = 0;
  if (::ioctl(root, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0) return true;
  if (own_name.empty()) return may_make && new_name_is_found_in_upper_case(root);
  return is_found_in_upper_case(root, own_name);
}

locale_t utf8() {
  static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

std::string fold_case(std::string_view name) {
  std::string folded;
  const locale_t before = utf8() != nullptr ? ::uselocale(utf8()) : nullptr;
  for (std::mbstate_t state{}; !name.empty();) {
    wchar_t letter = 0;
    const std::size_t length = std::mbrtowc(&letter, name.data(), name.size(), &state);
    char bytes[MB_LEN_MAX];
    std::mbstate_t fresh{};
    const bool whole = length != 0 && length <= name.size();
    const std::size_t written =
        whole ? std::wcrtomb(bytes, static_cast<wchar_t>(std::towupper(static_cast<std::wint_t>(letter))),
                             &fresh)
              : static_cast<std::size_t>(-1);
    if (written == static_cast<std::size_t>(-1)) {
      folded += name.front();
      name.remove_prefix(1);
      state = {};
    } else {
      folded.append(bytes, written);
      name.remove_prefix(length);
    }
  }
  if (before != nullptr) ::uselocale(before);
  return folded;
}

void Spellings::begin(int root, const std::string& own_name, bool may_make) {
  watches_ = takes_cases_for_one(root, own_name, may_make);
}

std::size_t Spellings::Hash::operator()(const io::Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof hash);
  return hash;
}

// Returns true unless another spelling has been claimed.
bool Spellings::claim_one(std::string_view path) {
  const std::string folded = fold_case(path);
  const io::Digest key = io::digest_of(std::as_bytes(std::span(folded)));
  const io::Digest spelling = io::digest_of(std::as_bytes(std::span(path)));
  const auto found = claimed_.find(key);
  const std::size_t mark = Hash{}(spelling);
  if (found != claimed_.end()) return found->second == mark;
  if (claimed_.size() < kRemembered) claimed_.emplace(key, mark);
  return true;
}

io::Result<void> Spellings::claim(EntryPathView path, std::string_view subject) {
  if (!watches_ || path.empty()) return {};
  const std::lock_guard lock(mutex_);
  const std::string_view parent = path.parent().text();
  bool alone = true;
  for (std::size_t end = 0; alone && parent != parent_ && end < parent.size(); ++end) {
    end = std::min(parent.find('/', end), parent.size());
    alone = claim_one(parent.substr(0, end));
  }
  if (alone) parent_ = parent;
  if (alone && claim_one(path.text())) return {};
  return io::plain_error(
      io::ErrorKind::file, "copy", subject,
      "another name of SRC differs from it in upper and lower case only, and DST treats both "
      "as one name; rename one of them");
}

bool Spellings::is_full() const {
  const std::lock_guard lock(mutex_);
  return claimed_.size() >= kRemembered;
}

}  // namespace rdcp::tree
