// The names of rdcp's own files beneath a target. They never count as part of a tree, and `rdcp --clean`
// finds them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdcp::tree {

enum class OwnName : std::uint8_t {
  none,
  part,       // ".rdcp-HASH.part": a large file that a run is writing, or has left
  journal,    // ".rdcp-HASH.journal": beside the part, records what it holds
  run,        // ".rdcp-HASH.run": marks a recursive copy that has not come to its end
  temporary,  // ".NAME.rdcp-XXXXXXXX": see temporary_name.h
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

OwnName own_name(std::string_view name);
// True for parts, journals and markers. They are nobody's data, so a tree is copied without them.
bool is_left_by_a_run(std::string_view name);

// Convert between the name of a journal and that of its part.
std::string part_of_journal(std::string_view journal);
std::string journal_of_part(std::string_view part);

}  // namespace rdcp::tree
