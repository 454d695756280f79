// What an agent may send to its coordinator: what was asked of it decides. So nothing is kept that nobody
// will take, and no agent is asked whether it is in the mood for another job.
#pragma once

#include <array>
#include <cstdint>

#include "tree/message.h"

namespace rdcp::tree {

// What an agent is there for; examining may be followed by measuring.
enum class Errand : std::uint8_t { none, source, target, measure, examine, clean, check, segment };
inline constexpr unsigned kErrands = 8;

// Which errand a message to an agent begins; none: it begins none.
Errand errand_of(MessageType order);

// One agent's account. One thread.
class Answers {
 public:
  // This was sent to it; times: as many answers are asked for, where each is asked for by number.
  void ordered(MessageType order, std::uint64_t times = 1);
  // This has come from it. False: it may not.
  bool take(MessageType answer);

 private:
  static constexpr unsigned kTypes = 256;
  Errand errand_ = Errand::none;
  bool greeted_ = false;
  std::array<std::uint64_t, kTypes> owed_{};  // by type of the answer
};

}  // namespace rdcp::tree
