#include "cli/options/alterations.h"

#include <algorithm>
#include <string>

#include "cli/options/shared_options.h"
#include "cli/text/size.h"

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
  // The special bits that are in the places of these: set-user-ID, set-group-ID, sticky.
  static std::uint32_t special_bits(std::uint32_t whom) {
    return ((whom & 0100) != 0 ? 04000 : 0) | ((whom & 0010) != 0 ? 02000 : 0) |
           ((whom & 0001) != 0 ? 01000 : 0);
  }
  bool at_end() const { return next_ == word_.size(); }
  std::uint32_t everybody() const { return whom_ == 0 ? kEverybody : whom_; }
  // The set-id bits of those who are named.
  std::uint32_t set_ids() const { return special_bits(whom_) & 06000; }
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
          whom_ |= 0100;
          break;
        case 'g':
          whom_ |= 0010;
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
          bits_ |= set_ids() == 0 ? 04000 : set_ids();  // as rsync does
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
      // As chmod(1) does, a directory's set-id bits and everybody's sticky bit stay unless they are named; as
      // with rsync, none stays where permissions are copied: nobody is to get them by a set-id program.
      const std::uint32_t named = bits_ & 07000;
      std::uint32_t special = named != 0 ? named | set_ids() : 0;
      if (change.copies != ModeChange::From::nobody) special = special_bits(everybody());
      change.keeps = kAll & ~(7 * everybody() | special);
    }
    change.sets = bits;
  }

  const string_view word_;
  const std::uint32_t umask_;
  std::size_t next_ = 0;
  std::uint32_t whom_ = 0;  // 0: nobody is named
  std::uint32_t bits_ = 0;  // of 07777, as they are named
};

// The number that an entry gets if the target's host, which knew its name, cannot look it up any more.
constexpr std::uint32_t kNobody = 65534;

Result<tree::NewOwner> parse_owner(string_view word) {
  tree::NewOwner owner;
  if (word.empty()) return owner;
  owner.given = true;
  const bool number = std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
  if (number) {
    constexpr std::uint32_t kMost = 0xfffffffe;  // the next one means "leave it" to chown(2)
    const auto parsed = parse_count("--chown", word, 0, kMost);
    if (!parsed) return parsed.error();
    owner.number = static_cast<std::uint32_t>(*parsed);
    return owner;
  }
  const bool odd = std::ranges::any_of(
      word, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '*' || c == ':' || c == 0x7f; });
  if (odd || word.size() > tree::NewOwner::kNameBytesMax) {
    return plain_error(io::ErrorKind::usage, "--chown", std::string(word),
                       "is neither a name nor a number; write USER, USER:GROUP or :GROUP");
  }
  owner.name = word;
  owner.number = kNobody;
  return owner;
}

Result<void> take_owners(string_view word, Options& options) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const string_view group = word.substr(std::min(colon + 1, word.size()));
  if (colon == 0 && group.empty()) return refuse("--chown", "names nobody; write USER, USER:GROUP or :GROUP");
  if (auto taken = assign(options.user, parse_owner(word.substr(0, colon))); !taken) return taken;
  return assign(options.group, parse_owner(group));
}

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
  line.value("--chown", [&options](const std::string& word) { return take_owners(word, options); });
}

Result<void> check_alterations(const Options& options) {
  const bool gives = options.user.given || options.group.given;
  if (gives && !options.owner) return refuse("--chown", "cannot be used with --no-owner");
  if (options.numeric_ids && alteration_of(options).names_somebody()) {
    return refuse("--chown", "takes numbers only with --numeric-ids, which looks no name up");
  }
  if (!(gives || !options.chmod.empty()) || !(options.check || options.clean || options.doctor)) return {};
  return refuse(gives ? "--chown" : "--chmod",
                "is for copies and mirrors; --check, --clean and --doctor change nothing");
}

tree::Alteration alteration_of(const Options& options) {
  tree::Alteration alteration{.modes = {}, .user = options.user, .group = options.group};
  if (!options.chmod.empty()) alteration.modes = parse_mode_changes(options.chmod, options.umask).value();
  return alteration;
}

}  // namespace rdcp::cli
