#include "tree/guards/answers.h"

#include <utility>

namespace rdcp::tree {
namespace {

using enum MessageType;
using Errands = unsigned;

template <class... One>
constexpr Errands on(One... errands) {
  return ((1u << static_cast<unsigned>(errands)) | ...);
}

constexpr Errands kAnyErrand = (1u << kErrands) - 1;
constexpr Errands kCopies = on(Errand::source, Errand::target);
constexpr Errands kStreamErrands = kCopies | on(Errand::measure);

// `each`: one answer for each order. `many`: any number of answers after the order.
enum class Times : std::uint8_t { each, many };

struct AnswerRule {
  MessageType answer;
  MessageType order;
  Times times;
  Errands errands;
};

// A message without a rule here is not an answer of an agent; but see is_sign_of_life(), too.
constexpr std::array kAnswerRules = {
    AnswerRule{pong, ping, Times::each, kAnyErrand},
    AnswerRule{explained_problem, explain_problems, Times::many, kAnyErrand},
    AnswerRule{paths_found, find_paths, Times::each, on(Errand::source)},
    AnswerRule{source_ready, source_job, Times::each, on(Errand::source)},
    AnswerRule{target_ready, target_job, Times::each, on(Errand::target)},
    AnswerRule{knocked, knock, Times::each, kCopies},
    AnswerRule{done, begin, Times::each, kCopies},
    AnswerRule{stream_lost, begin, Times::many, kCopies},
    AnswerRule{use_streams, grow_streams, Times::many, on(Errand::source)},
    AnswerRule{pair_offered, begin, Times::many, kStreamErrands},
    AnswerRule{pair_answered, begin, Times::many, kStreamErrands},
    AnswerRule{next_lost, pass_on, Times::each, on(Errand::target)},
    AnswerRule{branch_lost, pass_on, Times::each, on(Errand::target)},
    AnswerRule{ledger, keep_ledger, Times::each, kCopies},
    AnswerRule{pace, tell_pace, Times::many, on(Errand::target)},
    AnswerRule{sums, begin, Times::many, on(Errand::source)},
    AnswerRule{changes, begin, Times::many, on(Errand::target)},
    AnswerRule{measure_ready, measure_job, Times::each, on(Errand::measure)},
    AnswerRule{measured, begin, Times::each, on(Errand::measure)},
    AnswerRule{findings, examine, Times::each, on(Errand::examine)},
    AnswerRule{leftovers, clean_job, Times::many, on(Errand::clean)},
    AnswerRule{listed, list_more, Times::each, on(Errand::check)},
    AnswerRule{unlisted, list_more, Times::many, on(Errand::check)},
    AnswerRule{sum_told, sum_ask, Times::each, on(Errand::check)},
    AnswerRule{segment_end, segment_job, Times::each, on(Errand::segment)},
    AnswerRule{relayed_bytes, segment_job, Times::many, on(Errand::segment)},
    AnswerRule{beat, segment_job, Times::many, on(Errand::segment)},
};

// True for messages that an agent may always send, even while it does nothing.
bool is_sign_of_life(MessageType type) {
  return type == progress || type == suspend || type == problem;
}

std::size_t at(MessageType type) {
  return static_cast<std::size_t>(type);
}

}  // namespace

Errand errand_of(MessageType order) {
  switch (order) {
    case find_paths:
    case source_job:
      return Errand::source;
    case target_job:
      return Errand::target;
    case measure_job:
      return Errand::measure;
    case examine:
      return Errand::examine;
    case clean_job:
      return Errand::clean;
    case list_job:
      return Errand::check;
    case segment_job:
      return Errand::segment;
    default:
      return Errand::none;
  }
}

void Answers::ordered(MessageType order, std::uint64_t times) {
  if (const Errand begun = errand_of(order); begun != Errand::none) errand_ = begun;
  for (const AnswerRule& rule : kAnswerRules) {
    if (rule.order == order && (rule.errands & on(errand_)) != 0) owed_[at(rule.answer)] += times;
  }
}

bool Answers::take(MessageType answer) {
  if (answer == hello || !greeted_) return answer == hello && !std::exchange(greeted_, true);
  if (is_sign_of_life(answer)) return true;
  for (const AnswerRule& rule : kAnswerRules) {
    if (rule.answer != answer || owed_[at(answer)] == 0 || (rule.errands & on(errand_)) == 0) continue;
    if (rule.times == Times::each) --owed_[at(answer)];
    return true;
  }
  return false;
}

}  // namespace rdcp::tree
