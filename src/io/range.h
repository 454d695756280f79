// Which values a number may have that somebody else has said.
//
// An enum that travels in a message has a function last_of() beside it, which its type finds and which
// returns the last of its values, and first_of() where the first one is not 0. An enum without last_of() does
// not compile in a message.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rdcp::io {

// A number of a message that is at least kMinimum and at most kMaximum: the decoder refuses all others. It is
// used as the number itself.
template <class Number, Number kMinimum, Number kMaximum>
class Within {
 public:
  using Value = Number;
  static constexpr Number kMin = kMinimum;
  static constexpr Number kMax = kMaximum;
  static_assert(kMin <= kMax);

  constexpr Within(Number value = kMin) : value_(value) {}
  constexpr operator Number() const { return value_; }
  static constexpr bool holds(Number value) { return kMin <= value && value <= kMax; }

 private:
  Number value_;
};

template <class T>
inline constexpr bool is_within = false;
template <class Number, Number kMin, Number kMax>
inline constexpr bool is_within<Within<Number, kMin, kMax>> = true;

// The nanoseconds of a time.
using Nanoseconds = Within<std::uint32_t, 0, 999'999'999>;

// Whether an enum that travels has a value of this number.
template <class Enum>
constexpr bool is_known(std::underlying_type_t<Enum> number) {
  std::underlying_type_t<Enum> first = 0;
  if constexpr (requires { first_of(Enum{}); }) {
    first = static_cast<std::underlying_type_t<Enum>>(first_of(Enum{}));
  }
  return first <= number && number <= static_cast<std::underlying_type_t<Enum>>(last_of(Enum{}));
}

}  // namespace rdcp::io
