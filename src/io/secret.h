// Keys that do not stay in memory when they are no longer used.
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rdcp::io {

// Overwrites the bytes, even if the compiler sees that nobody reads them again.
inline void wipe(std::span<std::byte> bytes) {
  ::explicit_bzero(bytes.data(), bytes.size());
}
// Overwrites the text's whole buffer, also beyond the text's end, and leaves the text empty.
inline void wipe(std::string& text) {
  text.resize(text.capacity());
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}
// Appends to a text that may hold a secret. If the text has to grow, its old buffer is overwritten.
void append_secret(std::string& text, std::string_view bytes);
// Removes the first bytes of such a text, and overwrites the room that this leaves at its end.
void drop_secret(std::string& text, std::size_t bytes);

// A key. It is overwritten when it is destroyed or moved from.
template <std::size_t kBytes>
class Secret : public std::array<std::byte, kBytes> {
 public:
  Secret() : std::array<std::byte, kBytes>{} {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : std::array<std::byte, kBytes>(other) { wipe(other); }
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    std::array<std::byte, kBytes>::operator=(other);
    wipe(other);
    return *this;
  }
  ~Secret() { wipe(*this); }
};

// A text that is a secret, or holds one. It is overwritten when it is destroyed or moved from.
class SecretText {
 public:
  SecretText() = default;
  SecretText(std::string&& text) : text_(std::move(text)) { wipe(text); }
  SecretText(const SecretText&) = default;
  SecretText(SecretText&& other) noexcept : SecretText(std::move(other.text_)) {}
  SecretText& operator=(const SecretText& other) {
    if (this != &other) *this = SecretText(other);
    return *this;
  }
  SecretText& operator=(SecretText&& other) noexcept {
    if (this == &other) return *this;
    wipe(text_);
    text_ = std::move(other.text_);
    wipe(other.text_);
    return *this;
  }
  ~SecretText() { wipe(text_); }

  void append(std::string_view bytes) { append_secret(text_, bytes); }
  operator std::string_view() const { return text_; }
  std::string_view view() const { return text_; }
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }
  bool operator==(std::string_view other) const { return text_ == other; }

 private:
  std::string text_;
};

}  // namespace rdcp::io
