// Encodes and decodes the fields of a message, which lists them in fields() as a tuple of references.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

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
      char bytes[sizeof(T)];
      for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
      append({bytes, sizeof(T)});
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (io::is_within<T>) {
      put(static_cast<typename T::Value>(value));
    } else if constexpr (requires(T & message) { message.fields(); }) {
      put_all(const_cast<T&>(value).fields());
    } else {
      append({reinterpret_cast<const char*>(value.data()), value.size()});  // a digest or a key
    }
  }
  void put(const io::Words& words) { put(static_cast<const std::string&>(words)); }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    append(text);
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
  void append(std::string_view bytes) { io::append_secret(out_, bytes); }

  std::string out_;
};

// Each get() returns false if the bytes run out or make no sense, or if a number is not one of those that the
// field's type has. It allocates no more than what has arrived.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  bool get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      if (!get(byte) || byte > 1) return false;
      value = byte == 1;
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      if (rest_.size() < sizeof(T)) return false;
      std::make_unsigned_t<T> bits = 0;
      for (std::size_t i = 0; i < sizeof(T); ++i) {
        bits |= static_cast<std::make_unsigned_t<T>>(
            std::make_unsigned_t<T>{static_cast<std::uint8_t>(rest_[i])} << (8 * i));
      }
      value = static_cast<T>(bits);
      rest_.remove_prefix(sizeof(T));
      return true;
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
      if (rest_.size() < value.size()) return false;
      std::memcpy(value.data(), rest_.data(), value.size());
      rest_.remove_prefix(value.size());
      return true;
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
    if (!get(length) || rest_.size() < length) return false;
    text.assign(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return true;
  }
  template <class T>
  bool get(std::vector<T>& list) {
    std::uint32_t count = 0;
    if (!get(count) || rest_.size() < count) return false;  // an item takes at least one byte
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
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
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
