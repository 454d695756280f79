// Encodes and decodes the fields of a message, which lists them in fields() as a tuple of references.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "io/bytes.h"
#include "io/range.h"
#include "io/result.h"
#include "io/secret.h"
#include "io/words.h"

namespace rdcp::tree {

class Encoder {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      put(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      std::array<std::byte, sizeof(T)> bytes;
      io::store_le(bytes.data(), static_cast<std::make_unsigned_t<T>>(value));
      append(bytes);
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (io::is_within<T>) {
      put(static_cast<typename T::Value>(value));
    } else if constexpr (requires(T & message) { message.fields(); }) {
      put_all(const_cast<T&>(value).fields());
    } else {
      append(value);  // a digest or a key
    }
  }
  void put(const io::Words& words) { put(static_cast<const std::string&>(words)); }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    append(std::as_bytes(std::span(text)));
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const T& item : list) put(item);
  }
  template <class... T>
  void put_all(std::tuple<T&...> fields) {
    std::apply([this](const auto&... field) { (put(field), ...); }, fields);
  }
  std::string take() { return std::move(out_); }

 private:
  // A message may contain a key, so no copy of it may stay in memory.
  void append(std::span<const std::byte> bytes) {
    io::append_secret(out_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  std::string out_;
};

// Each get() returns false if the bytes run out or make no sense, or if a number is not one of those that the
// field's type has. It allocates no more than what has arrived.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(std::as_bytes(std::span(bytes))) {}

  template <class T>
  bool get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      if (!get(byte) || byte > 1) return false;
      value = byte == 1;
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(rest_.number<std::make_unsigned_t<T>>());
      return !rest_.cut();
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      if (!get(number) || !io::is_known<T>(number)) return false;
      value = static_cast<T>(number);
      return true;
    } else if constexpr (io::is_within<T>) {
      typename T::Value number{};
      if (!get(number) || !T::holds(number)) return false;
      return value = number, true;
    } else if constexpr (requires { value.fields(); }) {
      return get_all(value.fields());
    } else {
      const std::string_view bytes = rest_.text(value.size());
      std::ranges::copy(std::as_bytes(std::span(bytes)), value.begin());
      return !rest_.cut();
    }
  }
  // Escapes a peer's words, so that they cannot control a terminal.
  bool get(io::Words& words) {
    if (!get(static_cast<std::string&>(words))) return false;
    words = io::visible(words);
    return true;
  }
  bool get(std::string& text) {
    std::uint32_t length = 0;
    if (get(length)) text = rest_.text(length);
    return !rest_.cut();
  }
  template <class T>
  bool get(std::vector<T>& list) {
    std::uint32_t count = 0;
    if (!get(count) || rest_.rest().size() < count) return false;  // an item takes at least one byte
    list.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!get(list.emplace_back())) return false;
    }
    return true;
  }
  template <class... T>
  bool get_all(std::tuple<T&...> fields) {
    return std::apply([this](auto&... field) { return (get(field) && ...); }, fields);
  }
  bool at_end() const { return rest_.at_end(); }

 private:
  io::ByteReader rest_;
};

template <class Message>
std::string encode_fields(Message& message) {
  Encoder encoder;
  encoder.put_all(message.fields());
  return encoder.take();
}

// Returns false unless the bytes are exactly the message's fields.
template <class Message>
bool decode_fields(std::string_view bytes, Message& message) {
  Decoder decoder(bytes);
  return decoder.get_all(message.fields()) && decoder.at_end();
}

}  // namespace rdcp::tree
