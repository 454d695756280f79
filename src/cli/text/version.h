// The version that --version shows.
#pragma once

namespace rdcp::cli {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace rdcp::cli
