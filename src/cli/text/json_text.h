// Writes JSON for programs in a form that a terminal may safely show, too.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rdcp::cli {

// Says which lines are wanted: changes, differences and the last one (--json), or one for each event
// (--json=events).
enum class JsonForm : unsigned char { results, events };

// Writes json on one line or, with an indentation, on several, and ends it with a newline. Characters that
// are unsafe on a terminal (io::is_unsafe) become \uNNNN, and bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indentation = -1);

}  // namespace rdcp::cli
