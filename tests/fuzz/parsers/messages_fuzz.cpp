// Every message of the control channel, from whatever bytes: what decodes has words that no terminal obeys,
// and numbers within their ranges; it is encoded to bytes that decode to the same. The first byte chooses the
// message.
#include <array>
#include <tuple>

#include "io/words.h"
#include "tests/fuzz/targets.h"
#include "tree/messages/all_messages.h"
#include "tree/protocol/codec.h"
#include "tree/protocol/message_name.h"

namespace rdcp::fuzz {
namespace {

using namespace rdcp::tree;

struct Check {
  template <class T>
  void operator()(T& value) const {
    if constexpr (std::is_same_v<T, io::Words>) {
      require(io::visible(value) == value);
    } else if constexpr (io::is_within<T>) {
      require(T::holds(value));
    } else if constexpr (std::is_enum_v<T>) {
      require(io::is_known<T>(static_cast<std::underlying_type_t<T>>(value)));
    } else if constexpr (requires { value.fields(); }) {
      std::apply([this](auto&... field) { ((*this)(field), ...); }, value.fields());
    } else if constexpr (requires { value.emplace_back(); }) {
      for (auto& item : value) (*this)(item);
    }
  }
};

// What a Listed or Sums message of a few bytes must not do: take much more memory than was sent.
template <class T>
std::size_t memory_of(const T& value) {
  if constexpr (requires { value.capacity(); }) {
    std::size_t sum = value.capacity() * sizeof(typename T::value_type);
    for (const auto& item : value) sum += memory_of(item);
    return sum;
  } else if constexpr (requires(T & message) { message.fields(); }) {
    return std::apply([](const auto&... field) { return (std::size_t{0} + ... + memory_of(field)); },
                      const_cast<T&>(value).fields());
  } else {
    return 0;
  }
}

template <class Message>
void take(std::string_view bytes) {
  Message message;
  const bool decoded = decode_fields(bytes, message);
  constexpr std::size_t kGrowth = 64;  // a list of empty texts takes most: 4 bytes each on the wire
  require(memory_of(message) <= kGrowth * (bytes.size() + 64));
  if (!decoded) return;
  Check()(message);
  const std::string encoded = encode_fields(message);
  Message again;
  require(decode_fields(encoded, again) && encode_fields(again) == encoded);
}

template <std::size_t... kIndex>
constexpr auto makers(std::index_sequence<kIndex...>) {
  return std::array{&take<std::tuple_element_t<kIndex, AllMessages>>...};
}
constexpr auto kTakers = makers(std::make_index_sequence<std::tuple_size_v<AllMessages>>());

}  // namespace

void fuzz_messages(Bytes input) {
  if (input.empty()) return;
  const std::size_t chosen = std::to_integer<std::size_t>(input[0]) % kTakers.size();
  require(!name_of(static_cast<MessageType>(chosen + 1)).empty());
  kTakers[chosen](text_of(input.subspan(1)));
}

}  // namespace rdcp::fuzz
