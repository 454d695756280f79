// Whatever bytes a coordinator sends as a selection, a user writes as rules, or a tree has as names: no
// memory error, and matching stays in bounds. The input is cut at its first two NUL bytes: rules in text
// form, a path, the rest, which is taken for an encoded selection and for a list of paths.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tree/meta/entry.h"
#include "tree/protocol/codec.h"
#include "tree/select/filter.h"
#include "tree/select/filter_parser.h"
#include "tree/select/named_paths.h"

namespace {

using namespace rdcp::tree;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view cut(std::string_view& rest) {
  const std::size_t end = rest.find('\0');
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return piece;
}

void ask(const std::vector<FilterRule>& rules, std::string_view path) {
  const auto filter = Filter::create(rules);
  if (!filter) return;
  for (const bool is_directory : {false, true}) {
    const bool hidden = filter->hides(path, is_directory);
    require(hidden == filter->hides(path, is_directory));
    (void)filter->protects(path, is_directory);
    require(!filter->hides("", is_directory));
  }
}

std::vector<FilterRule> parsed(std::string_view text) {
  using Word = FilterParser::Word;
  std::vector<FilterRule> all;
  for (const Word word : {Word::exclude, Word::include, Word::filter, Word::exclude_from}) {
    FilterParser parser([&](const std::string&) { return std::string(text); }, false);
    const bool good = parser.add(word, std::string(text)).ok();
    for (FilterRule& rule : parser.take()) {
      require(!rule.pattern.empty() && rule.pattern.size() <= Pattern::kBytesMax);
      if (good) all.push_back(std::move(rule));
    }
  }
  return all;
}

// Each path leads somewhere beneath the root, and is met exactly once.
std::size_t walk(const NamedPaths& names, NamedPaths::Range range, std::size_t prefix) {
  std::size_t met = 0;
  while (!range.empty()) {
    const std::size_t before = range.first;
    const NamedPaths::Group group = names.take_group(range, prefix);
    require(range.first > before && is_safe_path(group.name) && group.name.find('/') == group.name.npos);
    require(names.has({before, range.first}, prefix, group.name));
    met += (group.beneath.first - before) + walk(names, group.beneath, prefix + group.name.size() + 1);
  }
  return met;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 4096;  // files that merge themselves multiply the work
  std::string_view rest(reinterpret_cast<const char*>(data), std::min(size, kMost));
  const std::string_view text = cut(rest);
  const std::string_view path = cut(rest);
  ask(parsed(text.substr(0, 64)), path);

  Selection selection;
  if (decode_fields(rest, selection)) {
    ask(selection.rules, path);
    Selection again;
    require(decode_fields(encode_fields(selection), again) && again.rules == selection.rules);
  }
  NamedPaths names;
  if (names.add({.paths = std::string(rest)}).ok()) {
    names.sort();
    NamedPaths::Range range = names.all();
    const bool content = names.take_content(range);
    require(walk(names, range, 0) + (content ? 1 : 0) == names.all().last);
  }
  return 0;
}
