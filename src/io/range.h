// Says which numbers and enum values are valid in a message from somebody else.
//
// An enum that travels in a message has a function last_of() beside it, found by argument-dependent lookup,
// which returns its last value, and first_of() if its first value is not 0. An enum without last_of() does
// not compile in a message.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rdcp::io {

// A number in a message, at least kMinimum and at most kMaximum: the decoder refuses all others. It converts
// to and from the plain number.
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

// The nanosecond part of a time.
using Nanoseconds = Within<std::uint32_t, 0, 999'999'999>;

// True if the enum has a value of this number.
template <class Enum>
constexpr bool is_known(std::underlying_type_t<Enum> number) {
  std::underlying_type_t<Enum> first = 0;
  if constexpr (requires { first_of(Enum{}); }) {
    first = static_cast<std::underlying_type_t<Enum>>(first_of(Enum{}));
  }
  return first <= number && number <= static_cast<std::underlying_type_t<Enum>>(last_of(Enum{}));
}

}  // namespace rdcp::io
