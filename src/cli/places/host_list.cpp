#include "cli/places/host_list.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_set>

namespace rdcp::cli {
namespace {

constexpr std::size_t kDigitsMax = 9;        // of one number
constexpr std::size_t kNameBytesMax = 1024;  // of a user, '@' and a host; DNS allows 255 for the host

// A fault, in words about the list.
using Fault = std::optional<std::string>;

std::optional<std::uint32_t> number_of(std::string_view digits) {
  std::uint32_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return whole && digits.size() <= kDigitsMax ? std::optional(value) : std::nullopt;
}

// Adds the numbers of "7", "1-9" or "1-9/2" to texts.
Fault add_range(std::string_view range, std::vector<std::string>& texts) {
  const std::string_view numbers = range.substr(0, range.find('/'));
  const std::string_view first_text = numbers.substr(0, numbers.find('-'));
  const bool is_one = first_text.size() == numbers.size();
  const auto first = number_of(first_text);
  const auto last = is_one ? first : number_of(numbers.substr(first_text.size() + 1));
  const auto step = numbers.size() == range.size() ? 1 : number_of(range.substr(numbers.size() + 1));
  if (!first || !last || !step || *step == 0) return fmt::format("'{}' is no range of numbers", range);
  if (*last < *first) return fmt::format("the range '{}' runs backwards", range);
  const std::size_t width = first_text.size();
  for (std::uint64_t number = *first; number <= *last; number += *step) {
    if (texts.size() == kHostsMax) return fmt::format("these are more than {} hosts", kHostsMax);
    texts.push_back(fmt::format("{:0{}}", number, width));
  }
  return std::nullopt;
}

// Appends each of `ends` to each of names.
Fault multiply(std::vector<std::string>& names, const std::vector<std::string>& ends) {
  if (names.size() * ends.size() > kHostsMax) return fmt::format("these are more than {} hosts", kHostsMax);
  std::vector<std::string> longer;
  for (const std::string& name : names) {
    for (const std::string& end : ends) longer.push_back(name + end);
  }
  names = std::move(longer);
  return std::nullopt;
}

// Expands one word, which has no comma outside of brackets.
Fault expand_word(std::string_view word, std::vector<std::string>& hosts) {
  if (word.empty()) return "a name in it is empty";
  std::vector<std::string> names{""};
  const bool is_group = word.starts_with('@');
  if (is_group) names = {std::string(word)};
  while (!word.empty() && !is_group) {
    const std::size_t open = word.find_first_of("[]");
    if (word.substr(0, open).find_first_of(":/") != word.npos)
      return "a name in it holds ':' or '/' (give an IPv6 address a name in ssh_config)";
    if (names.back().size() + word.substr(0, open).size() > kNameBytesMax) return "a name in it is too long";
    for (std::string& name : names) name += word.substr(0, open);
    if (open == word.npos) break;
    const std::size_t close = word.find(']', open);
    if (word[open] == ']' || close == word.npos) return "a bracket in it has no other one";
    std::vector<std::string> ends;
    for (std::string_view ranges = word.substr(open + 1, close - open - 1);;) {
      const std::size_t comma = ranges.find(',');
      if (Fault fault = add_range(ranges.substr(0, comma), ends)) return fault;
      if (comma == ranges.npos) break;
      ranges.remove_prefix(comma + 1);
    }
    if (Fault fault = multiply(names, ends)) return fault;
    word.remove_prefix(close + 1);
  }
  hosts.insert(hosts.end(), names.begin(), names.end());
  return hosts.size() > kHostsMax ? Fault(fmt::format("these are more than {} hosts", kHostsMax))
                                  : std::nullopt;
}

// Returns where the list's first word ends: at a comma outside of brackets, or at its end.
std::size_t end_of_word(std::string_view list) {
  bool in_brackets = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') in_brackets = true;
    if (list[i] == ']') in_brackets = false;
    if (list[i] == ',' && !in_brackets) return i;
  }
  return list.size();
}

}  // namespace

bool is_host_list(std::string_view host) {
  if (host.starts_with('@')) return true;
  if (host.find(',') != host.npos) return true;
  const std::size_t open = host.find('[');
  if (open == host.npos) return false;
  // Between brackets an address has a colon.
  return host.substr(open).find(':') == host.npos;
}

io::Result<std::vector<std::string>> expand_hosts(std::string_view list) {
  std::vector<std::string> all;
  for (std::string_view rest = list;;) {
    const std::size_t end = end_of_word(rest);
    if (const Fault fault = expand_word(rest.substr(0, end), all)) {
      return io::plain_error(io::ErrorKind::usage, "list of hosts", list, *fault);
    }
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  std::vector<std::string> hosts;
  std::unordered_set<std::string_view> seen;
  for (const std::string& host : all) {
    if (seen.insert(host).second) hosts.push_back(host);
  }
  return hosts;
}

}  // namespace rdcp::cli
