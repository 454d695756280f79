// Decides what an agent may send to its coordinator: only what it was asked for. So nothing is kept that
// nobody will use, and an agent cannot answer for a job that it does not have.
#pragma once

#include <array>
#include <cstdint>

#include "tree/messages/message.h"

namespace rdcp::tree {

// The purpose for which an agent was started. `measure` may follow `examine`.
enum class Errand : std::uint8_t { none, source, target, measure, examine, clean, check, segment };
inline constexpr unsigned kErrands = 8;

// Returns the errand that a message to an agent begins, or `none`.
Errand errand_of(MessageType order);

// The account of what one agent owes. For one thread.
class Answers {
 public:
  // Records an order that was sent to the agent. times is the number of answers that it asks for, if the
  // order has one.
  void ordered(MessageType order, std::uint64_t times = 1);
  // Records a message that came from the agent. Returns false if it was not allowed.
  bool take(MessageType answer);

 private:
  static constexpr unsigned kTypes = 256;
  Errand errand_ = Errand::none;
  bool greeted_ = false;
  std::array<std::uint64_t, kTypes> owed_{};  // indexed by type of the answer
};

}  // namespace rdcp::tree
