#include "cli/options/habits.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/options/shared_options.h"
#include "cli/text/size.h"

namespace rdcp::cli {
namespace {

using io::Result;
using std::string;
using std::string_view;

// A word of another program. Exactly one of `means` and `refusal` may have text; neither: rdcp does so
// anyway.
struct Habit {
  string_view name;
  string_view means = {};    // rdcp's words for it; % stands for the value
  string_view refusal = {};  // why there are none, and what to do
  bool has_value = false;
};

constexpr string_view kLinks =
    "rdcp copies symbolic links as links, or with --copy-links what all of them lead to";
constexpr string_view kKeptLinks =
    "rdcp never writes through a symbolic link at DST; name the directory that it leads to as DST";
constexpr string_view kModes =
    "rdcp takes modes and owners over as they are; write --chmod or --chown, or change them at DST "
    "afterwards";
constexpr string_view kLinkDest = "rdcp links what is the same in another copy; write --link-dest";

constexpr Habit kHabits[] = {
    // These are of rsync and cp. Metadata is always kept.
    {"-a", "-r"},
    {"--archive", "-r"},
    {"-t"},
    {"--times"},
    {"--perms"},
    {"--preserve", {}, {}, true},
    {"-l"},
    {"--links"},
    {"-H"},
    {"--hard-links"},
    {"-A"},
    {"--acls"},
    {"-X"},
    {"--xattrs"},
    {"-S"},  // among other letters; see take_letters()
    {"--sparse"},
    {"-g"},
    {"--group"},
    {"--owner"},
    {"-D"},
    {"--devices"},
    {"--specials"},
    {"-d"},
    {"--no-dereference"},
    // These say how rsync goes about it. rdcp keeps what has arrived, notices a silent host by itself, and
    // never shows
    // names to a shell.
    {"--partial"},
    {"--timeout", {}, {}, true},
    {"--contimeout", {}, {}, true},
    {"-s"},
    {"--protect-args"},
    {"--secluded-args"},
    {"--human-readable"},
    {"--fuzzy"},
    {"--no-inc-recursive"},
    {"--stats", "-v"},
    {"--info", {}, {}, true},
    {"--delete-before", "--delete"},
    {"--delete-during", "--delete"},
    {"--del", "--delete"},
    {"--delete-delay", "--delete"},
    {"--delete-after", "--delete"},
    {"-z", "--compress"},
    {"--compress-level", "--compress=%", {}, true},
    {"--zl", "--compress=%", {}, true},
    // These are of scp.
    {"-C", "--compress"},
    {"-B", "-o BatchMode=yes"},
    {"-J", "-o ProxyJump=%", {}, true},
    // These have no counterpart.
    {"-T", {}, "rdcp writes beside DST and takes any name; leave it out"},
    {"--temp-dir", {}, "rdcp always writes beside DST; leave it out", true},
    {"--dereference", "--copy-links"},
    {"-K", {}, kKeptLinks},
    {"--keep-dirlinks", {}, kKeptLinks},
    {"-k", {}, kLinks},
    {"--copy-dirlinks", {}, kLinks},
    {"--copy-unsafe-links", {}, kLinks},
    {"--safe-links", {}, "rdcp copies symbolic links as they are; leave some out with --exclude"},
    {"--usermap", {}, kModes, true},
    {"--groupmap", {}, kModes, true},
    {"--no-perms", {}, kModes},
    {"--no-times", {}, "rdcp needs times to know what has changed; leave it out"},
    {"--no-group", {}, "owner and group go together; write --no-owner"},
    {"-O", {}, "rdcp always gives directories their times; leave it out"},
    {"--omit-dir-times", {}, "rdcp always gives directories their times; leave it out"},
    {"--copy-dest", {}, kLinkDest, true},
    {"--compare-dest", {}, kLinkDest, true},
    {"--append", {}, "rdcp goes on with a part that is there by itself; leave it out"},
    {"--append-verify", {}, "rdcp goes on with a part that is there by itself; leave it out"},
    {"--rsync-path", {}, "write --rdcp-path", true},
    {"--transfers", {}, "write --streams", true},
    {"--checkers", {}, "write --streams", true},
};

bool is_number(string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

const Habit* find_habit(string_view name) {
  const Habit* found = std::ranges::find(kHabits, name, &Habit::name);
  return found == std::end(kHabits) ? nullptr : found;
}

class Translator {
 public:
  Translator(std::span<const char* const> words, const TakesValue& takes_value)
      : words_(words), takes_value_(takes_value) {}

  Result<std::vector<string>> translate() {
    while (next_ < words_.size()) {
      const string word = words_[next_++];
      if (word == "--") {
        out_.push_back(word);
        while (next_ < words_.size()) out_.emplace_back(words_[next_++]);
      } else if (word.starts_with("--")) {
        if (auto done = take_long(word); !done) return done.error();
      } else if (word.starts_with('-') && word.size() > 1) {
        if (auto done = take_letters(word); !done) return done.error();
      } else {
        out_.push_back(word);
      }
    }
    return std::move(out_);
  }

 private:
  bool number_follows() const { return next_ < words_.size() && is_number(words_[next_]); }

  // Takes a word of rdcp's own that has a value, which is attached or follows.
  void keep_with_value(const string& word, bool attached) {
    out_.push_back(word);
    if (!attached && next_ < words_.size()) out_.emplace_back(words_[next_++]);
  }

  Result<void> take_long(const string& word) {
    const std::size_t sign = word.find('=');
    const bool attached = sign != word.npos;
    const string name = word.substr(0, sign);
    if (name == "--info" && attached) return take_info(word);
    if (takes_value_(name)) return keep_with_value(word, attached), Result<void>();
    const Habit* habit = find_habit(name);
    // --preserve is rdcp's own, and cp's with a list.
    const bool is_own = habit == nullptr || (name == "--preserve" && !attached);
    if (is_own || (attached && !habit->has_value)) return out_.push_back(word), Result<void>();
    if (!attached) return take_habit(*habit, std::nullopt);
    return take_habit(*habit, word.substr(sign + 1));
  }

  // rsync's --info=progress2 asks for what --progress shows; its other words only say how much is told.
  Result<void> take_info(const string& word) {
    if (word.find("progress", word.find('=')) != word.npos) out_.emplace_back("--progress");
    return {};
  }

  // Takes letters that share a dash, each as a word of its own, up to one whose value is the rest.
  Result<void> take_letters(const string& word) {
    if (word == "-l" && number_follows()) return take_scp_limit();
    if (word == "-S") return refuse("-S", "for scp's program write --rsh; rsync's --sparse is always so");
    for (std::size_t i = 1; i < word.size(); ++i) {
      const string name{'-', word[i]};
      const string rest = word.substr(i + 1);
      const bool alone = word.size() == 2;
      if (is_rsyncs(word[i], alone, rest)) {
        if (word[i] == 'P') out_.emplace_back("--progress");
        continue;
      }
      if (name == "-i" && !alone && i > 1 && rest.empty() && takes_value_(name)) {
        return refuse("-i",
                      "among other letters it may be rsync's --itemize-changes or scp's key; write "
                      "--itemize-changes or --identity FILE");
      }
      if (takes_value_(name)) return keep_with_value(name + rest, !rest.empty()), Result<void>();
      const Habit* habit = find_habit(name);
      if (habit == nullptr) {
        out_.push_back(name);
        continue;
      }
      const bool has_rest = habit->has_value && !rest.empty();
      if (auto done = take_habit(*habit, has_rest ? std::optional(rest) : std::nullopt); !done) return done;
      if (habit->has_value) return {};
    }
    return {};
  }

  // True if a letter that rdcp has for something else is rsync's here: -P, --partial --progress, where no
  // number can be the port; -o, --owner, where no option of ssh can be meant; -h, --human-readable, which is
  // no call for help among other letters.
  bool is_rsyncs(char letter, bool alone, const string& rest) const {
    if (letter == 'P') return rest.empty() ? !(alone && number_follows()) : !is_number(rest);
    if (letter == 'o') return !alone && rest.find_first_of("= ") == rest.npos;
    return letter == 'h' && !alone;
  }

  // scp's -l is in units of 1,000 bits a second.
  Result<void> take_scp_limit() {
    constexpr std::uint64_t kBytes = 1000 / 8;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    const auto limit = parse_count("-l", words_[next_++], 1, kMost);
    if (!limit) return limit.error();
    out_.emplace_back("--bwlimit");
    out_.push_back(std::to_string(*limit * kBytes) + "B");
    return {};
  }

  Result<void> take_habit(const Habit& habit, std::optional<string> value) {
    if (habit.has_value && !value) {
      if (next_ == words_.size()) return refuse(habit.name, "needs a value");
      value = words_[next_++];
    }
    if (!habit.refusal.empty()) return refuse(habit.name, habit.refusal);
    std::size_t begin = 0;
    while (begin < habit.means.size()) {
      const std::size_t end = std::min(habit.means.find(' ', begin), habit.means.size());
      string word(habit.means.substr(begin, end - begin));
      if (const std::size_t place = word.find('%'); place != word.npos) word.replace(place, 1, *value);
      out_.push_back(std::move(word));
      begin = end + 1;
    }
    return {};
  }

  std::span<const char* const> words_;
  const TakesValue& takes_value_;
  std::size_t next_ = 0;
  std::vector<string> out_;
};

}  // namespace

bool is_habit(string_view name) {
  return find_habit(name) != nullptr;
}

Result<std::vector<string>> translate_habits(std::span<const char* const> words,
                                             const TakesValue& takes_value) {
  return Translator(words, takes_value).translate();
}

}  // namespace rdcp::cli
