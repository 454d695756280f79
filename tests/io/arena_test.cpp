#include "io/arena.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace rdcp::io {
namespace {

std::size_t resident_bytes() {
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * kPageBytes;
}

// The VmFlags line (proc_pid_smaps(5)) of the mapping that starts at `start`.
std::string mapping_flags(const void* start) {
  std::ifstream maps("/proc/self/smaps");
  const std::string first_line_start = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(start));
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    found = found || line.starts_with(first_line_start);
    if (found && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

TEST(Arena, SlotsAreAlignedDisjointAndZero) {
  Result<Arena> arena = Arena::create(5, 3 * kPageBytes);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->all().size(), 15 * kPageBytes);
  for (std::size_t i = 0; i < arena->slot_count(); ++i) {
    const std::span<std::byte> slot = arena->slot(i);
    EXPECT_EQ(slot.size(), arena->slot_bytes());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot.data()) % kPageBytes, 0U);
    EXPECT_EQ(slot.data(), arena->all().data() + i * arena->slot_bytes());
    for (std::byte& byte : slot) {
      ASSERT_EQ(byte, std::byte{0});
      byte = std::byte{1};
    }
  }
}

TEST(Arena, StartsWhereAHugePageMay) {
  Result<Arena> arena = Arena::create(1, kPageBytes);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->all().data()) % (2 << 20), 0U);
}

TEST(Arena, TouchesNoPageBeforeItsSlotIsUsed) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const std::size_t before = resident_bytes();
  Result<Arena> arena = Arena::create(1024, kBytes / 1024);
  ASSERT_TRUE(arena.ok());
  EXPECT_LT(resident_bytes(), before + kBytes / 16);
}

TEST(Arena, ChildrenDoNotInheritIt) {
  Result<Arena> arena = Arena::create(1, kPageBytes);
  ASSERT_TRUE(arena.ok());
  EXPECT_NE(mapping_flags(arena->all().data()).find(" dc"), std::string::npos) << "dc: do not copy on fork";
}

TEST(Arena, MovesWithItsMemory) {
  Result<Arena> first = Arena::create(1, kPageBytes);
  Result<Arena> second = Arena::create(2, kPageBytes);
  ASSERT_TRUE(first.ok() && second.ok());
  first->all()[0] = std::byte{7};
  *second = std::move(*first);
  Arena third(std::move(*second));
  EXPECT_EQ(third.slot_count(), 1U);
  EXPECT_EQ(third.all()[0], std::byte{7});
}

TEST(Arena, RefusesNothingAndTooMuch) {
  EXPECT_EQ(Arena::create(0, kPageBytes).error().code, EINVAL);
  EXPECT_EQ(Arena::create(1, 0).error().code, EINVAL);
  EXPECT_EQ(Arena::create(std::numeric_limits<std::size_t>::max(), kPageBytes).error().code, ENOMEM);
  EXPECT_EQ(Arena::create(std::size_t{1} << 38, 1 << 20).error().code, ENOMEM)
      << "larger than the address space";
}

}  // namespace
}  // namespace rdcp::io
