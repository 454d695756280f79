// The names that rdcp gives to what is its own beneath a target: never seen as part of a tree, found by
// `rdcp --clean`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdcp::tree {

enum class OwnName : std::uint8_t {
  none,
  part,       // ".rdcp-HASH.part": a large file that is being written, or was
  journal,    // ".rdcp-HASH.journal": beside it, what it holds
  run,        // ".rdcp-HASH.run": a recursive copy that has not come to its end
  temporary,  // ".NAME.rdcp-XXXXXXXX": see temporary_name.h
};
constexpr OwnName last_of(OwnName) {
  return OwnName::temporary;
}

// HASH is that of the final name, 32 hexadecimal digits, so that the same file finds its part again.
struct PartNames {
  explicit PartNames(std::string_view final_name);
  std::string part;
  std::string journal;
};

// ".rdcp-HASH.run"; job: whatever tells one job from another.
std::string run_name(std::string_view job);

OwnName own_name(std::string_view name);
// True of parts, journals and markers, which are nobody's data: a tree is copied without them.
bool is_left_by_a_run(std::string_view name);
// The journal's name of a part's, the part's of a journal's.
std::string part_of_journal(std::string_view journal);
std::string journal_of_part(std::string_view part);

}  // namespace rdcp::tree
