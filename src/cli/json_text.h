// JSON for programs, which a terminal may show, too.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rdcp::cli {

// What json says, in one line or, with an indentation, in several, and a newline. Characters that a terminal
// obeys or that make text look other than it is are \uNNNN; what is no UTF-8 is U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indentation = -1);

}  // namespace rdcp::cli
