#include "tree/fs/temporary_name.h"

#include <fmt/format.h>

#include <climits>
#include <random>

namespace rdcp::tree {

std::string temporary_name(std::string_view name) {
  thread_local std::mt19937 random{std::random_device{}()};
  constexpr std::size_t kRoom = NAME_MAX - std::string_view("..rdcp-01234567").size();
  if (name.size() > kRoom) {
    std::size_t end = kRoom;
    const auto continues = [&] { return (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80; };
    // A character has at most three continuation bytes. More of them are not UTF-8 and may be cut anywhere.
    while (end > kRoom - 3 && continues()) --end;
    name = name.substr(0, end);
  }
  return fmt::format(".{}.rdcp-{:08x}", name, random());
}

}  // namespace rdcp::tree
