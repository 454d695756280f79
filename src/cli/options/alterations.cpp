#include "cli/options/alterations.h"

#include <algorithm>
#include <string>

#include "cli/options/shared_options.h"

namespace rdcp::cli {

using io::Result;
using std::string_view;
using tree::ModeChange;

namespace {

constexpr std::uint32_t kAll = 07777;
constexpr std::uint32_t kEverybody = 0111;  // one bit for each of user, group and other

// Reads one change, such as "Dgo-w".
class ModeReader {
 public:
  ModeReader(string_view word, std::uint32_t umask) : word_(word), umask_(umask) {}

  // Returns false if the word makes no sense.
  bool read(ModeChange& change) {
    take_whom(change);
    if (at_end()) return false;
    if (whom_ == 0 && is_octal(word_[next_])) return take_number(change);
    const char operation = word_[next_++];
    if (operation != '+' && operation != '-' && operation != '=') return false;
    if (!take_permissions(change)) return false;
    finish(operation, change);
    return true;
  }

 private:
  static bool is_octal(char c) { return c >= '0' && c <= '7'; }
  bool at_end() const { return next_ == word_.size(); }
  std::uint32_t everybody() const { return whom_ == 0 ? kEverybody : whom_; }
  std::uint32_t allowed() const { return whom_ == 0 ? ~umask_ & kAll : kAll; }

  void take_whom(ModeChange& change) {
    for (; !at_end(); ++next_) {
      switch (word_[next_]) {
        case 'D':
        case 'F':
          if (change.kind != ModeChange::Kind::any) return;  // which then makes no sense
          change.kind = word_[next_] == 'D' ? ModeChange::Kind::directories : ModeChange::Kind::others;
          break;
        case 'u':
          whom_ |= 0100, special_ |= 04000;
          break;
        case 'g':
          whom_ |= 0010, special_ |= 02000;
          break;
        case 'o':
          whom_ |= 0001;
          break;
        case 'a':
          whom_ |= kEverybody;
          break;
        default:
          return;
      }
    }
  }

  bool take_number(ModeChange& change) {
    std::uint32_t mode = 0;
    for (; !at_end(); ++next_) {
      if (!is_octal(word_[next_])) return false;
      mode = mode * 8 + static_cast<std::uint32_t>(word_[next_] - '0');
      if (mode > kAll) return false;
    }
    change.keeps = 0;
    change.sets = mode;
    return true;
  }

  bool take_permissions(ModeChange& change) {
    for (; !at_end(); ++next_) {
      switch (word_[next_]) {
        case 'r':
          bits_ |= 4 * everybody();
          break;
        case 'w':
          bits_ |= 2 * everybody();
          break;
        case 'X':
          change.guards_x = true;
          [[fallthrough]];
        case 'x':
          bits_ |= everybody();
          break;
        case 's':
          bits_ |= special_ == 0 ? 04000 : special_;  // as rsync does
          break;
        case 't':
          bits_ |= 01000;
          break;
        default:
          return take_copied(change);
      }
    }
    return true;
  }

  // "g=u": the letter stands alone.
  bool take_copied(ModeChange& change) {
    using From = ModeChange::From;
    const char from = word_[next_];
    if (bits_ != 0 || next_ + 1 != word_.size()) return false;
    if (from != 'u' && from != 'g' && from != 'o') return false;
    change.copies = from == 'u' ? From::user : from == 'g' ? From::group : From::other;
    change.copies_to = 7 * everybody() & allowed();
    return true;
  }

  void finish(char operation, ModeChange& change) const {
    const std::uint32_t bits = bits_ & allowed();
    if (operation == '-') {
      change.keeps = kAll & ~bits;
      change.copies_to_clear = change.copies != ModeChange::From::nobody;
      return;
    }
    if (operation == '=') {
      // As chmod(1) does, a directory's set-id bits and everybody's sticky bit stay unless they are named.
      const std::uint32_t special = bits_ & 07000;
      change.keeps = kAll & ~(7 * everybody() | (special != 0 ? special | special_ : 0));
    }
    change.sets = bits;
  }

  const string_view word_;
  const std::uint32_t umask_;
  std::size_t next_ = 0;
  std::uint32_t whom_ = 0;     // 0: nobody is named
  std::uint32_t special_ = 0;  // the set-id bits of those who are named
  std::uint32_t bits_ = 0;     // of 07777, as they are named
};

}  // namespace

Result<std::vector<ModeChange>> parse_mode_changes(string_view words, std::uint32_t umask) {
  std::vector<ModeChange> changes;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const string_view word = words.substr(begin, end - begin);
    if (!ModeReader(word, umask).read(changes.emplace_back())) {
      return plain_error(io::ErrorKind::usage, "--chmod", std::string(word),
                         "is no change of a mode; write for instance D755,F644 or u+rwX,go-w");
    }
    if (changes.size() > tree::kModeChangesMax) return refuse("--chmod", "has too many changes");
    begin = end + 1;
  }
  return changes;
}

void add_alteration_options(CommandLine& line, Options& options) {
  line.values("--chmod", [&options](const std::string& word) -> Result<void> {
    options.chmod += (options.chmod.empty() ? "" : ",") + word;
    const auto changes = parse_mode_changes(options.chmod, 0);
    return changes ? Result<void>() : changes.error();
  });
}

Result<void> check_alterations(const Options& options) {
  if (options.chmod.empty() || !(options.check || options.clean || options.doctor)) return {};
  return refuse("--chmod", "is for copies and mirrors; --check, --clean and --doctor change nothing");
}

tree::Alteration alteration_of(const Options& options) {
  tree::Alteration alteration;
  if (!options.chmod.empty()) alteration.modes = parse_mode_changes(options.chmod, options.umask).value();
  return alteration;
}

}  // namespace rdcp::cli
