#include "tree/select/filter_pattern.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rdcp::tree {

using io::Result;

namespace {

using Set = std::bitset<256>;

std::uint8_t code(char c) {
  return static_cast<std::uint8_t>(c);
}

bool between(std::uint8_t c, char first, char last) {
  return c >= code(first) && c <= code(last);
}
bool is_digit(std::uint8_t c) {
  return between(c, '0', '9');
}
bool is_upper(std::uint8_t c) {
  return between(c, 'A', 'Z');
}
bool is_lower(std::uint8_t c) {
  return between(c, 'a', 'z');
}
bool is_alnum(std::uint8_t c) {
  return is_digit(c) || is_upper(c) || is_lower(c);
}
bool is_graph(std::uint8_t c) {
  return between(c, '!', '~');
}

// These do not use <cctype>, because what is a letter there depends on the locale, and the two hosts of a
// copy may have different ones.
struct NamedClass {
  std::string_view name;
  bool (*holds)(std::uint8_t);
};
constexpr std::array<NamedClass, 12> kClasses{{
    {"alnum", is_alnum},
    {"alpha", [](std::uint8_t c) { return is_upper(c) || is_lower(c); }},
    {"blank", [](std::uint8_t c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](std::uint8_t c) { return c < 0x20 || c == 0x7f; }},
    {"digit", is_digit},
    {"graph", is_graph},
    {"lower", is_lower},
    {"print", [](std::uint8_t c) { return c == ' ' || is_graph(c); }},
    {"punct", [](std::uint8_t c) { return is_graph(c) && !is_alnum(c); }},
    {"space", [](std::uint8_t c) { return c == ' ' || between(c, '\t', '\r'); }},
    {"upper", is_upper},
    {"xdigit", [](std::uint8_t c) { return is_digit(c) || between(c, 'a', 'f') || between(c, 'A', 'F'); }},
}};

bool add_class(std::string_view name, Set& set) {
  const auto found = std::ranges::find(kClasses, name, &NamedClass::name);
  if (found == kClasses.end()) return false;
  for (unsigned c = 0; c < set.size(); ++c) {
    if (found->holds(static_cast<std::uint8_t>(c))) set.set(c);
  }
  return true;
}

// Reads what is between "[" and its "]". Returns no set if that has no end, or names an unknown class.
class SetReader {
 public:
  SetReader(std::string_view text, std::size_t& at) : text_(text), at_(at) {}

  std::optional<Set> read() {
    const bool inverted = more() && (text_[at_] == '!' || text_[at_] == '^');
    if (inverted) ++at_;
    for (bool first = true;; first = false) {
      if (!more()) return std::nullopt;
      if (text_[at_] == ']' && !first) break;
      if (!read_member()) return std::nullopt;
    }
    ++at_;
    if (inverted) set_.flip();
    set_.reset(code('/'));
    return set_;
  }

 private:
  bool more(std::size_t ahead = 0) const { return at_ + ahead < text_.size(); }

  bool read_member() {
    if (text_[at_] == '-' && previous_ && more(1) && text_[at_ + 1] != ']') return read_range();
    if (text_[at_] == '[' && more(1) && text_[at_ + 1] == ':') {
      const std::size_t name = at_ + 2;
      const std::size_t end = text_.find(']', name);
      if (end == text_.npos) return false;
      if (end > name && text_[end - 1] == ':') {
        at_ = end + 1;
        previous_.reset();
        return add_class(text_.substr(name, end - 1 - name), set_);
      }
    }
    previous_ = read_byte();
    if (previous_) set_.set(*previous_);
    return previous_.has_value();
  }

  bool read_range() {
    ++at_;
    const auto last = read_byte();
    if (!last) return false;
    for (unsigned c = *previous_; c <= *last; ++c) set_.set(c);
    previous_.reset();
    return true;
  }

  std::optional<std::uint8_t> read_byte() {
    if (text_[at_] == '\\') ++at_;
    if (!more()) return std::nullopt;
    return code(text_[at_++]);
  }

  std::string_view text_;
  std::size_t& at_;
  Set set_;
  std::optional<std::uint8_t> previous_;  // a range may begin with it
};

}  // namespace

// A path with an optional slash before its begin or after its end, which some patterns may match.
class Pattern::Subject {
 public:
  Subject(std::string_view path, bool slash_before, bool slash_behind)
      : path_(path), before_(slash_before ? 1 : 0), size_(path.size() + before_ + (slash_behind ? 1 : 0)) {}
  std::size_t size() const { return size_; }
  char operator[](std::size_t at) const {
    return at < before_ || at - before_ >= path_.size() ? '/' : path_[at - before_];
  }

 private:
  std::string_view path_;
  std::size_t before_;
  std::size_t size_;
};

Result<Pattern> Pattern::create(std::string_view text) {
  if (text.empty() || text.size() > kBytesMax) {
    return io::plain_error(io::ErrorKind::protocol, "filter pattern", "",
                           text.empty() ? "empty" : "too long");
  }
  Pattern pattern;
  if (text.size() > 1 && text.ends_with('/')) {
    text.remove_suffix(1);
    pattern.directories_only_ = true;
  }
  pattern.slashes_ = static_cast<std::size_t>(std::ranges::count(text, '/'));
  pattern.wild_ = text.find_first_of("*[?") != text.npos;
  pattern.has_star_star_ = text.find("**") != text.npos;
  pattern.begins_star_star_ = text.starts_with("**");
  pattern.ends_star_star_star_ = text.ends_with("***");
  pattern.anchored_ = text.starts_with('/');
  if (pattern.anchored_) text.remove_prefix(1);
  if (pattern.wild_) {
    pattern.malformed_ = !pattern.tokenize(text);
  } else {
    pattern.literal_ = text;
  }
  return pattern;
}

bool Pattern::tokenize(std::string_view text) {
  using Kind = Token::Kind;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c == '*') {
      const std::size_t stars = at;
      while (at < text.size() && text[at] == '*') ++at;
      tokens_.push_back({at == stars ? Kind::star : Kind::star_star});
    } else if (c == '?') {
      tokens_.push_back({Kind::any});
    } else if (c == '[') {
      const auto set = SetReader(text, at).read();
      if (!set) return false;
      tokens_.push_back({.kind = Kind::set, .set = static_cast<std::uint32_t>(sets_.size())});
      sets_.push_back(*set);
    } else if (c == '\\') {
      if (at == text.size()) return false;
      tokens_.push_back({.kind = Kind::byte, .byte = code(text[at++])});
    } else {
      tokens_.push_back({.kind = Kind::byte, .byte = code(c)});
    }
  }
  return true;
}

bool Pattern::matches(std::string_view path, bool is_directory) const {
  if (path.empty() || malformed_ || (directories_only_ && !is_directory)) return false;
  if (!wild_) return matches_literally(path);
  if (has_star_star_) {
    const Subject subject(path, begins_star_star_, ends_star_star_star_ && is_directory);
    if (anchored_ || begins_star_star_) return matches_from(subject, 0);
    return matches_anywhere(subject);
  }
  const auto end = anchored_ ? path : tail_of(path);
  return end && matches_from(Subject(*end, false, false), 0);
}

bool Pattern::matches_literally(std::string_view path) const {
  if (anchored_ || path.size() <= literal_.size()) return path == literal_;
  return path.ends_with(literal_) && path[path.size() - literal_.size() - 1] == '/';
}

std::optional<std::string_view> Pattern::tail_of(std::string_view path) const {
  std::size_t begin = path.size();
  for (std::size_t names = 0; names <= slashes_; ++names) {
    if (begin == 0) return std::nullopt;
    const std::size_t slash = path.rfind('/', begin - 1);
    if (slash == path.npos) return names == slashes_ ? std::optional(path) : std::nullopt;
    begin = slash;
  }
  return path.substr(begin + 1);
}

bool Pattern::matches_anywhere(const Subject& subject) const {
  if (matches_from(subject, 0)) return true;
  for (std::size_t at = 0; at < subject.size(); ++at) {
    if (subject[at] == '/' && matches_from(subject, at + 1)) return true;
  }
  return false;
}

bool Pattern::fits(const Token& token, char byte) const {
  switch (token.kind) {
    case Token::Kind::byte:
      return token.byte == code(byte);
    case Token::Kind::any:
      return byte != '/';
    case Token::Kind::set:
      return sets_[token.set].test(code(byte));
    default:
      return false;
  }
}

// Only the last star of each kind is ever tried again: what stands before it matched as early as it could, so
// no other way to match it leaves more of the subject.
bool Pattern::matches_from(const Subject& subject, std::size_t at) const {
  struct Star {
    std::size_t token = 0;  // the token after the star; 0: there is no star
    std::size_t end = 0;    // the end of what the star covers so far
  };
  Star star;  // the last "*" after the last "**"
  Star star_star;
  for (std::size_t token = 0;;) {
    if (token < tokens_.size() && tokens_[token].kind == Token::Kind::star) {
      star = Star{++token, at};
    } else if (token < tokens_.size() && tokens_[token].kind == Token::Kind::star_star) {
      if (++token == tokens_.size()) return true;
      star_star = Star{token, at};
      star = {};
    } else if (at == subject.size()) {
      return token == tokens_.size();  // longer stars would leave even less
    } else if (token < tokens_.size() && fits(tokens_[token], subject[at])) {
      ++token;
      ++at;
    } else if (star.token > 0 && subject[star.end] != '/') {
      token = star.token;
      at = ++star.end;
    } else if (star_star.token > 0) {
      token = star_star.token;
      at = ++star_star.end;
      star = {};
    } else {
      return false;
    }
  }
}

}  // namespace rdcp::tree
