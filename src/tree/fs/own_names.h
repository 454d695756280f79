// The names of rdcp's own files beneath a target, by which `rdcp --clean` finds them.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdcp::tree {

enum class OwnName : std::uint8_t {
  none,
  part,       // ".rdcp-HASH.part": a large file that a run is writing, or has left
  journal,    // ".rdcp-HASH.journal": beside the part, records what it holds
  run,        // ".rdcp-HASH.run": marks a recursive copy that has not come to its end
  temporary,  // ".NAME.rdcp-XXXXXXXX": see temporary_name()
};
constexpr OwnName last_of(OwnName) {
  return OwnName::temporary;
}

// HASH is the digest of the final name in 32 hexadecimal digits, so that a later run finds the part of the
// same file.
struct PartNames {
  explicit PartNames(std::string_view final_name);
  std::string part;
  std::string journal;
};

// Returns ".rdcp-HASH.run". `job` is any text that tells one job from another.
std::string run_name(std::string_view job);

// Returns ".NAME.rdcp-XXXXXXXX" with random hexadecimal digits. NAME is cut short if the whole would exceed
// NAME_MAX, but not within a UTF-8 character, which some filesystems refuse. Others can guess such a name, so
// whatever gets it must be created exclusively.
std::string temporary_name(std::string_view name);

// Calls make(name), which returns -1 with errno on failure, with temporary names until one is free. Returns
// the name that was taken, or an empty one with errno.
template <class Make>
std::string take_temporary_name(std::string_view final_name, Make make) {
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = temporary_name(final_name);
    if (make(name.c_str()) >= 0) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

OwnName own_name(std::string_view name);
// True for parts, journals and markers. They are nobody's data, so a tree is copied without them.
bool is_left_by_a_run(std::string_view name);

// Convert between the name of a journal and that of its part.
std::string part_of_journal(std::string_view journal);
std::string journal_of_part(std::string_view part);

}  // namespace rdcp::tree
