#include "io/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace rdcp::io {
namespace {

constexpr std::byte kMark{0x5a};

// Memory in which an object lives for a while. A byte of a pointer may look like one mark, but not like four.
template <class T>
struct Room {
  alignas(T) std::array<std::byte, sizeof(T)> bytes{};
  T* place() { return reinterpret_cast<T*>(bytes.data()); }
  bool has_marks() const { return !std::ranges::search_n(bytes, 4, kMark).empty(); }
};

TEST(Secret, IsOverwrittenWhenItIsDestroyed) {
  Room<Secret<32>> room;
  Secret<32>* secret = std::construct_at(room.place());
  secret->fill(kMark);
  EXPECT_TRUE(room.has_marks());
  std::destroy_at(secret);
  EXPECT_FALSE(room.has_marks());
}

TEST(Secret, LeavesNothingWhereItWasMovedFrom) {
  Secret<32> from;
  from.fill(kMark);
  const Secret<32> copy = from;
  const Secret<32> made = std::move(from);
  EXPECT_EQ(made, copy);
  EXPECT_EQ(from, Secret<32>());
  Secret<32> again = made;
  Secret<32> assigned;
  assigned = std::move(again);
  EXPECT_EQ(assigned, copy);
  EXPECT_EQ(again, Secret<32>());
}

TEST(Secret, AShortTextIsOverwrittenToo) {
  Room<SecretText> room;
  SecretText* text = std::construct_at(room.place(), std::string(8, static_cast<char>(kMark)));
  EXPECT_TRUE(room.has_marks());  // such a text is kept in the object itself
  SecretText moved = std::move(*text);
  EXPECT_FALSE(room.has_marks());
  EXPECT_EQ(moved.size(), 8u);
  *text = std::move(moved);
  std::destroy_at(text);
  EXPECT_FALSE(room.has_marks());
}

TEST(Secret, ATextGrowsAndShrinksAsItShould) {
  std::string text, expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 40), static_cast<char>('a' + i % 26));
    append_secret(text, piece);
    expected += piece;
    if (i % 7 != 0) continue;
    drop_secret(text, text.size() / 3);
    expected.erase(0, expected.size() / 3);
  }
  EXPECT_EQ(text, expected);
}

TEST(Secret, WhatIsDroppedDoesNotStayBehindTheEnd) {
  std::string text = "key-key-key-key-key-and more";
  drop_secret(text, 20);
  EXPECT_EQ(text, "and more");
  const char* behind = text.data() + text.size() + 1;
  EXPECT_EQ(std::string_view(behind, 8).find("key"), std::string_view::npos);
}

TEST(Secret, AWipedTextIsEmpty) {
  std::string text(100, static_cast<char>(kMark));
  wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text.data()[50], '\0');
}

}  // namespace
}  // namespace rdcp::io
