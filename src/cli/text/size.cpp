#include "cli/text/size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

namespace rdcp::cli {
namespace {

constexpr std::uint64_t kSizeMax = std::numeric_limits<std::int64_t>::max();

io::Error refuse(std::string_view option, std::string_view text, std::string_view why) {
  return io::plain_error(io::ErrorKind::usage, option, text.empty() ? "''" : text, why);
}

struct Number {
  std::uint64_t value = 0;
  bool overflow = false;
  std::string_view rest;
};

std::optional<Number> leading_number(std::string_view text) {
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error == std::errc::invalid_argument) return std::nullopt;
  number.overflow = error == std::errc::result_out_of_range;
  number.rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The part of a number behind its point: digits / below.
struct Fraction {
  bool is_there = false;
  std::uint64_t digits = 0;
  std::uint64_t below = 1;  // a power of ten; 1: there are no digits, or too many
};

// Takes a point and what belongs to it away from the begin of the text.
Fraction take_fraction(std::string_view& text) {
  constexpr std::size_t kDigitsMax = 9;
  Fraction fraction;
  if (!text.starts_with('.')) return fraction;
  fraction.is_there = true;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789", 1), text.size()) - 1;
  if (digits <= kDigitsMax) {
    for (const char c : text.substr(1, digits)) {
      fraction.digits = fraction.digits * 10 + static_cast<std::uint64_t>(c - '0');
      fraction.below *= 10;
    }
  }
  text.remove_prefix(1 + digits);
  return fraction;
}

// Returns what a suffix multiplies by: K, KiB = 1024, KB = 1000, and so on.
std::optional<std::uint64_t> unit_of(std::string_view suffix) {
  std::string upper;
  for (const char c : suffix) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper.empty() || upper == "B") return 1;

  const std::size_t power = std::string_view("KMGT").find(upper.front());
  const std::string tail = upper.substr(1);
  if (power == std::string_view::npos || !(tail.empty() || tail == "IB" || tail == "B")) return std::nullopt;
  const std::uint64_t base = tail == "B" ? 1000 : 1024;
  std::uint64_t unit = base;
  for (std::size_t i = 0; i < power; ++i) unit *= base;
  return unit;
}

}  // namespace

io::Result<std::uint64_t> parse_size(std::string_view option, std::string_view text) {
  const auto number = leading_number(text);
  if (!number) return refuse(option, text, "not a size; write a number and K, M, G, T (or KB, KiB, ...)");
  std::string_view rest = number->rest;
  const Fraction fraction = take_fraction(rest);
  const auto unit = unit_of(rest);
  if (fraction.is_there && (fraction.below == 1 || unit == 1))
    return refuse(option, text,
                  "a fraction is some digits, at most nine, and then K, M, G, T (or KB, KiB, ...)");
  if (!unit)
    return refuse(option, text,
                  "unknown unit; K, M, G, T (KiB, ...) are powers of 1024, KB, ... powers of 1000");
  if (number->overflow || number->value > kSizeMax / *unit) return refuse(option, text, "too large");
  const auto part =
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(fraction.digits) * *unit / fraction.below);
  if (part > kSizeMax - number->value * *unit) return refuse(option, text, "too large");
  return number->value * *unit + part;
}

io::Result<std::uint64_t> parse_count(std::string_view option, std::string_view text, std::uint64_t least,
                                      std::uint64_t most) {
  const auto number = leading_number(text);
  if (!number || number->overflow || !number->rest.empty() || number->value < least || number->value > most) {
    return refuse(option, text, fmt::format("must be a whole number from {} to {}", least, most));
  }
  return number->value;
}

}  // namespace rdcp::cli
