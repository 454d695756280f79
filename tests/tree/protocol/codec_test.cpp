#include "tree/protocol/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "tree/messages/all_messages.h"

namespace rdcp::tree {
namespace {

using Messages = AllMessages;

// The first and the last number that an enum has a value for, written down once more.
using Bounds = std::pair<std::uint64_t, std::uint64_t>;
template <class Enum>
Bounds to(Enum last, std::uint64_t first = 0) {
  return {first, static_cast<std::uint64_t>(last)};
}
Bounds bounds(ModeChange::Kind) {
  return to(ModeChange::Kind::others);
}
Bounds bounds(ModeChange::From) {
  return to(ModeChange::From::other);
}
Bounds bounds(io::ErrorKind) {
  return to(io::ErrorKind::reader_gone);
}
Bounds bounds(io::CacheMode) {
  return to(io::CacheMode::bypass);
}
Bounds bounds(io::RingChoice) {
  return to(io::RingChoice::thread_pool);
}
Bounds bounds(net::Sealing) {
  return to(net::Sealing::rather);
}
Bounds bounds(net::Cipher) {
  return to(net::Cipher::chacha20_poly1305, 1);
}
Bounds bounds(net::LinkKind) {
  return to(net::LinkKind::iwarp, 1);
}
Bounds bounds(Connect) {
  return to(Connect::in_process);
}
Bounds bounds(Transport) {
  return to(Transport::rdma);
}
Bounds bounds(PathKind) {
  return to(PathKind::byte_stream);
}
Bounds bounds(LossKind) {
  return to(LossKind::times);
}
Bounds bounds(Level) {
  return to(Level::problem);
}
Bounds bounds(SegmentKind) {
  return to(SegmentKind::append_file);
}
Bounds bounds(RelayChannel) {
  return to(RelayChannel::output);
}
Bounds bounds(OwnName) {
  return to(OwnName::temporary);
}
Bounds bounds(EntryType) {
  return to(EntryType::block_device);
}
Bounds bounds(SumState) {
  return to(SumState::unreadable);
}
Bounds bounds(FilterSides) {
  return to(FilterSides::both);
}

// A number in the bytes of a message.
struct Number {
  std::size_t at = 0;
  std::size_t bytes = 0;
  Bounds good;

  std::uint64_t most() const {
    return bytes == 8 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << (8 * bytes)) - 1;
  }
  bool holds(std::uint64_t value) const { return good.first <= value && value <= good.second; }
  std::string put(std::string into, std::uint64_t value) const {
    for (std::size_t i = 0; i < bytes; ++i) into[at + i] = static_cast<char>(value >> (8 * i));
    return into;
  }
};

// Finds the numbers of a message, as it is when each of its lists has one item and each text is empty.
class Numbers {
 public:
  template <class T>
  void take(T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      add(1, {0, 1});
    } else if constexpr (std::is_integral_v<T>) {
      add(sizeof(T), {0, std::numeric_limits<std::make_unsigned_t<T>>::max()});
    } else if constexpr (std::is_enum_v<T>) {
      add(sizeof(T), bounds(field));
    } else if constexpr (io::is_within<T>) {
      add(sizeof(T), {T::kMin, T::kMax});
    } else {
      take_all(field.fields());
    }
  }
  void take(io::Words& text) { take(static_cast<std::string&>(text)); }
  void take(std::string&) { at_ += sizeof(std::uint32_t); }
  template <std::size_t N>
  void take(std::array<std::byte, N>&) {
    at_ += N;
  }
  template <std::size_t N>
  void take(io::Secret<N>&) {
    at_ += N;
  }
  template <class T>
  void take(std::vector<T>& list) {
    list.resize(1);
    at_ += sizeof(std::uint32_t);
    take(list.front());
  }
  template <class... T>
  void take_all(std::tuple<T&...> fields) {
    std::apply([this](auto&... field) { (take(field), ...); }, fields);
  }

  const std::vector<Number>& found() const { return found_; }
  std::size_t bytes() const { return at_; }

 private:
  void add(std::size_t bytes, Bounds good) {
    found_.push_back({at_, bytes, good});
    at_ += bytes;
  }
  std::size_t at_ = 0;
  std::vector<Number> found_;
};

template <class Message>
bool decodes(const std::string& bytes) {
  Message message;
  return decode_fields(bytes, message);
}

// Returns how many of the values that were tried are none of the field's.
template <class Message>
int try_values(const Number& number, const std::string& good) {
  const std::set<std::uint64_t> values{0,
                                       1,
                                       std::max<std::uint64_t>(number.good.first, 1) - 1,
                                       number.good.first,
                                       number.good.second,
                                       std::min(number.good.second, number.most() - 1) + 1,
                                       number.most()};
  int bad = 0;
  for (const std::uint64_t value : values) {
    if (!number.holds(value)) ++bad;
    EXPECT_EQ(decodes<Message>(number.put(good, value)), number.holds(value))
        << "message " << int(Message::kType) << ", the number at byte " << number.at << ": " << value;
  }
  return bad;
}

template <class Message>
int try_numbers() {
  Message message;
  Numbers numbers;
  numbers.take_all(message.fields());
  std::string bytes = encode_fields(message);
  EXPECT_EQ(bytes.size(), numbers.bytes());
  for (const Number& number : numbers.found()) bytes = number.put(bytes, number.good.first);
  EXPECT_TRUE(decodes<Message>(bytes)) << int(Message::kType);
  int bad = 0;
  for (const Number& number : numbers.found()) bad += try_values<Message>(number, bytes);
  return bad;
}

TEST(Codec, NoNumberOutsideItsRangeIsDecoded) {
  const int bad = []<class... Message>(std::tuple<Message...>*) {
    return (try_numbers<Message>() + ...);
  }(static_cast<Messages*>(nullptr));
  EXPECT_GT(bad, 100);
}

TEST(Codec, EveryKindOfMessageIsTried) {
  std::set<MessageType> tried = []<class... Message>(std::tuple<Message...>*) {
    return std::set{Message::kType...};
  }(static_cast<Messages*>(nullptr));
  EXPECT_EQ(tried.size(), std::tuple_size_v<Messages>);
  for (int number = 0; number < 256; ++number) {
    MessageType type{};
    const bool known = Decoder(std::string(1, static_cast<char>(number))).get(type);
    EXPECT_EQ(known, tried.contains(static_cast<MessageType>(number))) << number;
  }
}

}  // namespace
}  // namespace rdcp::tree
