// The messages about the examination of a host (--doctor).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tree/messages/message.h"

namespace rdcp::tree {

enum class Level : std::uint8_t { ok = 0, warning, problem };
constexpr Level last_of(Level) {
  return Level::problem;
}
std::string_view describe(Level level);  // "ok", "warning" or "problem"; an unknown level is a "problem"

struct Finding {
  Level level = Level::ok;
  io::Words subject;  // "io_uring", "mlx5_0 port 1"
  io::Words text;     // what was found
  io::Words advice;   // what to do about it; empty if there is nothing to do
  auto fields() { return std::tie(level, subject, text, advice); }
  bool operator==(const Finding&) const = default;
};

// Tells an agent to examine its host.
struct Examine {
  static constexpr MessageType kType = MessageType::examine;
  auto fields() { return std::tie(); }
};

struct Findings {
  static constexpr MessageType kType = MessageType::findings;
  std::vector<Finding> findings;
  auto fields() { return std::tie(findings); }
};

}  // namespace rdcp::tree
