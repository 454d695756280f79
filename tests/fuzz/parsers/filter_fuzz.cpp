// Whatever bytes a coordinator sends as a selection, a user writes as rules, or a tree has as names: no
// memory error, and matching stays in bounds. The input is cut at its first two NUL bytes: rules in text
// form, a path, the rest, which is taken for an encoded selection.
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/targets.h"
#include "tree/meta/entry.h"
#include "tree/protocol/codec.h"
#include "tree/select/filter.h"
#include "tree/select/filter_parser.h"

namespace rdcp::fuzz {
namespace {

using namespace rdcp::tree;

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

}  // namespace

void fuzz_filter(Bytes input) {
  constexpr std::size_t kMost = 4096;  // files that merge themselves multiply the work
  std::string_view rest = text_of(input).substr(0, kMost);
  const std::string_view text = cut(rest);
  const std::string_view path = cut(rest);
  ask(parsed(text.substr(0, 64)), path);

  Selection selection;
  if (decode_fields(rest, selection)) {
    ask(selection.rules, path);
    Selection again;
    require(decode_fields(encode_fields(selection), again) && again.rules == selection.rules);
  }
}

}  // namespace rdcp::fuzz
