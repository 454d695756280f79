// What a fuzz target is, and what all of them use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/bytes.h"

namespace rdcp::fuzz {

using Bytes = std::span<const std::byte>;

// Takes bytes as a peer, a user or a disk may give them, and ends the program if rdcp breaks a promise.
struct FuzzTarget {
  std::string_view name;
  void (*run)(Bytes input);
  bool costly = false;  // a run takes milliseconds: files are made, or threads
};

std::span<const FuzzTarget> all_targets();
const FuzzTarget* find_target(std::string_view name);

// Ends the program with the place of the promise that does not hold.
// (clang 14 has no std::source_location.)
inline void require(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: does not hold\n", file, line);
  std::abort();
}

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Takes an input apart into choices. Once it has run out, every choice is 0 and every piece is empty.
class Choices {
 public:
  explicit Choices(Bytes input) : reader_(input) {}

  bool more() const { return !reader_.cut() && !reader_.at_end(); }
  template <class Number>
  Number number() {
    return static_cast<Number>(reader_.number<std::make_unsigned_t<Number>>());
  }
  bool flag() { return (number<std::uint8_t>() & 1) != 0; }
  // A number below `count`.
  std::size_t below(std::size_t count) { return number<std::uint8_t>() % count; }
  // A piece of the input with its length, of one or two bytes, before it. If less is left, it is all of that.
  std::string_view piece() { return text(number<std::uint8_t>()); }
  std::string_view long_piece() { return text(number<std::uint16_t>()); }
  std::string_view rest() { return text(reader_.rest().size()); }

 private:
  std::string_view text(std::size_t length) {
    return reader_.cut() ? std::string_view() : reader_.text(std::min(length, reader_.rest().size()));
  }

  io::ByteReader reader_;
};

// Memory of exactly the size of the bytes, so that a sanitizer sees whoever reads past them.
inline std::vector<std::byte> exact_copy(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace rdcp::fuzz
