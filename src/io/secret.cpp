#include "io/secret.h"

#include <algorithm>
#include <cstring>

namespace rdcp::io {

void append_secret(std::string& text, std::string_view bytes) {
  if (text.capacity() - text.size() < bytes.size()) {
    std::string larger;
    larger.reserve(std::max(2 * text.capacity(), text.size() + bytes.size()));
    larger.append(text);
    wipe(text);
    text.swap(larger);
  }
  text.append(bytes);
}

void drop_secret(std::string& text, std::size_t bytes) {
  const std::size_t left = text.size() - bytes;
  std::memmove(text.data(), text.data() + bytes, left);
  ::explicit_bzero(text.data() + left, bytes);
  text.resize(left);
}

}  // namespace rdcp::io
