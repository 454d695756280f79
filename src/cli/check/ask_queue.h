// Questions for the digests of files, and what one agent is asked of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tree/messages/check_job.h"

namespace rdcp::cli {

// The answer of one agent.
struct Reply {
  std::size_t agent = 0;
  tree::SumFound found;
};
using Replies = std::vector<Reply>;

// A question to one or more agents. It is answered when all of them have, or are lost.
struct Question {
  // Is called with the replies in the order of the agents, but for those that are lost.
  using Answer = std::function<void(const Replies&)>;

  tree::SumItem item;
  std::uint64_t bytes = 0;  // about how much each agent reads for it
  Answer answer = {};
  std::size_t open = 0;  // agents that have not replied
  std::size_t cost = 0;  // about how much memory it takes until it is answered
  Replies replies = {};
};
// Returns the cost of a question to as many agents as it is open for.
std::size_t cost_of(const Question& question);

// The questions to one agent, gathered to messages, few of which are under way. Not thread-safe.
class AskQueue {
 public:
  using Questions = std::vector<std::shared_ptr<Question>>;

  void add(std::shared_ptr<Question> question);
  // Has those that were gathered sent, because no more come soon.
  void flush();
  bool is_empty() const { return gathered_.empty() && waiting_.empty() && sent_.empty(); }

  // Returns the next message to be sent, or nothing while none waits, or enough is under way.
  std::optional<tree::SumAsk> next();
  // Takes the agent's answer to a message. Returns the questions that it answers, with a reply in `told` for
  // each; or nothing if it is not an answer to what was asked.
  std::optional<Questions> take(const tree::SumTold& told);
  // Empties the queue. Returns the questions that were not answered.
  Questions give_up();

  static constexpr std::size_t kItemsMax = 64;         // in a message
  static constexpr std::uint64_t kAskBytes = 4 << 20;  // an agent reads about this much for one message
  // No more is sent to an agent while this much text is under way to it. It is less than any pipe holds, so
  // no write here ever waits for an agent that waits for us.
  static constexpr std::size_t kTextUnderWay = 24 << 10;

 private:
  struct Sent {
    Questions questions;
    std::size_t text = 0;
  };

  Questions gathered_;
  std::uint64_t gathered_bytes_ = 0;
  std::deque<Questions> waiting_;
  std::map<std::uint32_t, Sent> sent_;
  std::size_t text_ = 0;  // under way
  std::uint32_t next_id_ = 1;
};

}  // namespace rdcp::cli
