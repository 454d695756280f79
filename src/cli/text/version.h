// The version that --version shows.
#pragma once

#include <string>
#include <string_view>

namespace rdcp::cli {

inline constexpr const char* kVersion = "0.2.0";

// Returns what --version prints: the version, then the commit that was built, the protocol's versions, the
// compiler, and what was built in.
std::string version_text(std::string_view program);

}  // namespace rdcp::cli
