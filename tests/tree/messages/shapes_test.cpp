// Two builds of one protocol version must understand each other. What travels is described in shapes.txt,
// with its version: whoever changes a message sees it here, and raises the version.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "net/crypto/handshake.h"
#include "net/stream/frame.h"
#include "tree/messages/all_messages.h"
#include "tree/protocol/message_name.h"

namespace rdcp::tree {
namespace {

constexpr const char* kFile = RDCP_SOURCE_DIR "/tests/tree/messages/shapes.txt";

template <class Number>
std::string number_type() {
  return (std::is_signed_v<Number> ? "i" : "u") + std::to_string(8 * sizeof(Number));
}

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

// As Encoder (tree/protocol/codec.h) puts it.
template <class T>
std::string shape_of(T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_integral_v<T>) {
    return number_type<T>();
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> first{};
    if constexpr (requires { first_of(T{}); }) first = static_cast<std::underlying_type_t<T>>(first_of(T{}));
    return "enum " + number_type<std::underlying_type_t<T>>() + " " + std::to_string(first) + ".." +
           std::to_string(static_cast<std::underlying_type_t<T>>(last_of(T{})));
  } else if constexpr (io::is_within<T>) {
    return number_type<typename T::Value>() + " " + std::to_string(T::kMin) + ".." + std::to_string(T::kMax);
  } else if constexpr (std::is_base_of_v<std::string, T>) {
    return "text";
  } else if constexpr (is_list<T>) {
    typename T::value_type item{};
    return "[" + shape_of(item) + "]";
  } else if constexpr (requires { value.fields(); }) {
    std::string all;
    std::apply([&](auto&... field) { ((all += (all.empty() ? "" : ", ") + shape_of(field)), ...); },
               value.fields());
    return "{" + all + "}";
  } else {
    return "bytes " + std::to_string(sizeof value);
  }
}

template <class Message>
std::string line_of() {
  Message message{};
  return name_of(Message::kType) + " " + std::to_string(static_cast<int>(Message::kType)) + " " +
         shape_of(message) + "\n";
}

std::string shapes() {
  std::string text = "version " + std::to_string(kProtocolVersion) + "\n";
  text += "streams: version " + std::to_string(net::kStreamVersion) + "\n";
  text += "frame: bytes " + std::to_string(net::kFrameBytes) + "\n";
  [&]<class... Message>(std::tuple<Message...>*) {
    ((text += line_of<Message>()), ...);
  }(static_cast<AllMessages*>(nullptr));
  return text;
}

std::string text_of_file() {
  std::ifstream file(kFile);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// That the kinds of frames mean the same is not seen here.
TEST(Shapes, AreThoseOfTheVersion) {
  if (std::getenv("RDCP_WRITE_SHAPES") != nullptr) std::ofstream(kFile) << shapes();
  EXPECT_EQ(shapes(), text_of_file())
      << "What travels has changed: raise kProtocolVersion (tree/messages/hello.h) for a message, or "
         "kStreamVersion (net/crypto/handshake.h) for a frame, if it has not been raised since the last "
         "change "
         "that users may have; then run this test with RDCP_WRITE_SHAPES=1.";
}

}  // namespace
}  // namespace rdcp::tree
