#include "cli/check/ask_queue.h"

#include <algorithm>
#include <utility>

namespace rdcp::cli {

namespace {

std::size_t text_of(const tree::SumAsk& ask) {
  std::size_t text = 16;
  for (const tree::SumItem& item : ask.items) text += item.path.size() + 32;
  return text;
}

}  // namespace

std::size_t cost_of(const Question& question) {
  const tree::SumItem& item = question.item;
  const std::uint64_t digests =
      item.unit == 0 ? 1 : std::min((item.length + item.unit - 1) / item.unit, tree::kSumsMax);
  const std::size_t of_reply = sizeof(Reply) + digests * sizeof(io::Digest) + 3 * sizeof(void*);
  return sizeof question + item.path.size() + question.open * of_reply;
}

void AskQueue::add(std::shared_ptr<Question> question) {
  gathered_bytes_ += question->bytes;
  gathered_.push_back(std::move(question));
  if (gathered_.size() >= kItemsMax || gathered_bytes_ >= kAskBytes) flush();
}

void AskQueue::flush() {
  if (gathered_.empty()) return;
  waiting_.push_back(std::exchange(gathered_, {}));
  gathered_bytes_ = 0;
}

std::optional<tree::SumAsk> AskQueue::next() {
  if (waiting_.empty() || (!sent_.empty() && text_ >= kTextUnderWay)) return std::nullopt;
  tree::SumAsk ask;
  ask.id = next_id_++;
  for (const auto& question : waiting_.front()) ask.items.push_back(question->item);
  const std::size_t text = text_of(ask);
  sent_.emplace(ask.id, Sent{std::move(waiting_.front()), text});
  waiting_.pop_front();
  text_ += text;
  return ask;
}

std::optional<AskQueue::Questions> AskQueue::take(const tree::SumTold& told) {
  const auto at = sent_.find(told.id);
  if (at == sent_.end() || told.found.size() != at->second.questions.size()) return std::nullopt;
  const auto too_many = [](const tree::SumFound& found) { return found.digests.size() > tree::kSumsMax; };
  if (std::ranges::any_of(told.found, too_many)) return std::nullopt;
  Questions questions = std::move(at->second.questions);
  text_ -= at->second.text;
  sent_.erase(at);
  return questions;
}

AskQueue::Questions AskQueue::give_up() {
  Questions left = std::exchange(gathered_, {});
  gathered_bytes_ = 0;
  for (Questions& questions : waiting_) left.insert(left.end(), questions.begin(), questions.end());
  for (auto& [id, sent] : sent_) left.insert(left.end(), sent.questions.begin(), sent.questions.end());
  waiting_.clear();
  sent_.clear();
  text_ = 0;
  return left;
}

}  // namespace rdcp::cli
