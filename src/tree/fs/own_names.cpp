#include "tree/fs/own_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <random>
#include <span>

#include "io/digest.h"

namespace rdcp::tree {
namespace {

constexpr std::string_view kPrefix = ".rdcp-";
constexpr std::string_view kPart = ".part";
constexpr std::string_view kJournal = ".journal";
constexpr std::string_view kRun = ".run";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kTemporaryDigits = 8;

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string hashed(std::string_view what) {
  std::string name(kPrefix);
  for (const std::byte byte : io::digest_of(std::as_bytes(std::span(what))).bytes) {
    name += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return name;
}

std::string with_ending(std::string_view name, std::string_view ending) {
  return std::string(name.substr(0, kPrefix.size() + kHashDigits)) + std::string(ending);
}

}  // namespace

PartNames::PartNames(std::string_view final_name) {
  const std::string name = hashed(final_name);
  part = with_ending(name, kPart);
  journal = with_ending(name, kJournal);
}

std::string run_name(std::string_view job) {
  return with_ending(hashed(job), kRun);
}

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

OwnName own_name(std::string_view name) {
  if (name.starts_with(kPrefix) && name.size() > kPrefix.size() + kHashDigits &&
      is_hexadecimal(name.substr(kPrefix.size(), kHashDigits))) {
    const std::string_view ending = name.substr(kPrefix.size() + kHashDigits);
    if (ending == kPart) return OwnName::part;
    if (ending == kJournal) return OwnName::journal;
    if (ending == kRun) return OwnName::run;
  }
  const std::size_t tail = kPrefix.size() + kTemporaryDigits;
  const bool temporary = name.size() > tail + 1 && name.front() == '.' &&
                         name.substr(name.size() - tail).starts_with(kPrefix) &&
                         is_hexadecimal(name.substr(name.size() - kTemporaryDigits));
  return temporary ? OwnName::temporary : OwnName::none;
}

bool is_left_by_a_run(std::string_view name) {
  const OwnName own = name.starts_with(kPrefix) ? own_name(name) : OwnName::none;
  return own != OwnName::none && own != OwnName::temporary;
}

std::string part_of_journal(std::string_view journal) {
  return with_ending(journal, kPart);
}

std::string journal_of_part(std::string_view part) {
  return with_ending(part, kJournal);
}

}  // namespace rdcp::tree
