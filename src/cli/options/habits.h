// Words of scp, rsync, cp and rclone that rdcp understands although it has others for the same thing.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

// True if an option of rdcp's own ("-e", "--rsh") takes the next word as its value.
using TakesValue = std::function<bool(const std::string& name)>;

// Returns these words of a command line with those of other programs replaced by rdcp's: "-avP" becomes
// "-r -v --progress". What rdcp does anyway (rsync's -H, say) is left out; unknown words, operands, values
// and all after "--" stay as they are. Errors (usage): a value is missing; a word asks for what rdcp does not
// do, with what it does instead.
io::Result<std::vector<std::string>> translate_habits(std::span<const char* const> words,
                                                      const TakesValue& takes_value);

// True if this is an option ("-a", "--archive") that translate_habits() replaces or refuses.
bool is_habit(std::string_view name);

}  // namespace rdcp::cli
