// What an examination of a host finds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tree/message.h"

namespace rdcp::tree {

enum class Level : std::uint8_t { ok = 0, warning, problem };
constexpr Level last_of(Level) {
  return Level::problem;
}
std::string_view describe(Level level);  // "ok", "warning", "problem"; what a peer made up is a problem

struct Finding {
  Level level = Level::ok;
  io::Words subject;  // "io_uring", "mlx5_0 port 1"
  io::Words text;     // what is so
  io::Words advice;   // what to do; empty: nothing
  auto fields() { return std::tie(level, subject, text, advice); }
  bool operator==(const Finding&) const = default;
};

// To an agent: look at your host.
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
