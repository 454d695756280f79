#include "cli/inspect/check_party.h"

#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/text/exit_status.h"
#include "cli/text/report.h"

namespace rdcp::cli {

using io::ErrorKind;

namespace {

constexpr std::chrono::milliseconds kLookEvery{500};
constexpr std::size_t kItemsMax = 64;
constexpr std::uint64_t kAskBytes = 4 << 20;  // an agent reads about this much for one ask

std::size_t text_of(const tree::SumAsk& ask) {
  std::size_t text = 16;
  for (const tree::SumItem& item : ask.items) text += item.path.size() + 32;
  return text;
}

// Takes what has come, without what belongs to an earlier list.
template <class Message>
std::vector<Message> of_current_job(Inbox<Message>& inbox, std::uint32_t job) {
  auto messages = inbox.take();
  std::erase_if(messages, [&](const Message& message) { return message.job != job; });
  return messages;
}

}  // namespace

CheckParty::CheckParty(const Options& options, int signal_fd, JsonReport* json)
    : options_(options), json_(json), loop_({.signal_fd = signal_fd}, *this) {}

CheckParty::~CheckParty() {
  loop_.tell_all(tree::Finish{.status = static_cast<std::uint8_t>(status_)});
  for (const Agent& agent : agents_) agent.session->end(over_);
}

bool CheckParty::start(const std::vector<Location>& places) {
  for (const Location& place : places) {
    if (!loop_.await_logins() || !add(place)) return false;
  }
  const auto greeted = [](const Agent& agent) { return agent.session->hello().has_value(); };
  return loop_.turn_until([&] { return std::ranges::all_of(agents_, greeted); }, kLookEvery);
}

bool CheckParty::add(const Location& place) {
  auto session = is_remote(place)
                     ? AgentSession::start_remote(options_.shell, place)
                     : AgentSession::start_thread(
                           {.confinement = confinement(options_.shell, tree::Confinement::of_thread)});
  if (!session) return fail(session.error()), false;
  const std::size_t which = agents_.size();
  Agent& agent = agents_.emplace_back(Agent{.session = std::move(*session)});
  if (json_ != nullptr) agent.session->explain_problems();
  agent.session->collect(agent.pages);
  agent.session->collect(agent.unlisted);
  agent.session->on<tree::SumTold>([this, which](tree::SumTold& told) { take_told(which, told); });
  loop_.add(*agent.session);
  return true;
}

void CheckParty::look_at(std::size_t which, const std::string& path, tree::ListJob job) {
  Agent& agent = agents_[which];
  job.number = ++agent.job;
  job.path = path;
  job.numeric_ids = options_.numeric_ids;
  job.cache = options_.cache;
  agent.session->tell(job);  // an agent that is gone shows when it is read from
  agent.session->tell(tree::ListMore{.pages = kPages});
}

std::vector<tree::Listed> CheckParty::take_pages(std::size_t which) {
  return of_current_job(agents_[which].pages, agents_[which].job);
}

std::vector<tree::Unlisted> CheckParty::take_unlisted(std::size_t which) {
  return of_current_job(agents_[which].unlisted, agents_[which].job);
}

void CheckParty::ask(const tree::SumItem& item, std::uint64_t bytes, Answer answer) {
  gathered_.items.push_back(item);
  gathered_answers_.push_back(std::move(answer));
  gathered_bytes_ += bytes;
  if (gathered_.items.size() >= kItemsMax || gathered_bytes_ >= kAskBytes) flush();
}

void CheckParty::flush() {
  if (gathered_.items.empty()) return;
  gathered_.id = next_id_++;
  for (Agent& agent : agents_) agent.waiting.push_back(gathered_.id);
  Ask ask{std::exchange(gathered_, {}), std::exchange(gathered_answers_, {}), {}};
  ask.found.resize(agents_.size());
  const std::uint32_t id = ask.ask.id;
  asks_.emplace(id, std::move(ask));
  gathered_bytes_ = 0;
  send_waiting();
}

void CheckParty::send_waiting() {
  for (Agent& agent : agents_) {
    while (!agent.waiting.empty() && (agent.under_way == 0 || agent.text < kTextUnderWay)) {
      const tree::SumAsk& ask = asks_.at(agent.waiting.front()).ask;
      agent.waiting.pop_front();
      ++agent.under_way;
      agent.text += text_of(ask);
      agent.session->tell(ask);
    }
  }
}

// An answer to what was not asked ends the check.
void CheckParty::take_told(std::size_t which, tree::SumTold& told) {
  if (over_) return;
  Agent& agent = agents_[which];
  const auto at = asks_.find(told.id);
  if (at == asks_.end() || !at->second.found[which].empty() ||
      told.found.size() != at->second.ask.items.size()) {
    return fail(io::plain_error(ErrorKind::protocol, "talk to", agent.session->name(),
                                "it sent an answer to a question that was not asked"));
  }
  --agent.under_way;
  agent.text -= text_of(at->second.ask);
  at->second.found[which] = std::move(told.found);
  if (std::ranges::any_of(at->second.found, [](const auto& found) { return found.empty(); })) return;
  const Ask ask = std::move(at->second);
  asks_.erase(at);
  for (std::size_t i = 0; i < ask.answers.size(); ++i) {
    std::vector<tree::SumFound> found;
    for (const auto& of_agent : ask.found) found.push_back(of_agent[i]);
    ask.answers[i](found);
  }
}

bool CheckParty::turn() {
  if (!loop_.turn(kLookEvery)) return false;
  send_waiting();
  return true;
}

void CheckParty::hear_problem(AgentSession& session, const tree::Problem& problem) {
  print(options_.program + ": " + session.problem_prefix() + problem.text + "\n");
  tell(json_problem(problem, session.host_elsewhere()));
  raise(exit_status(problem.kind));
  if (problem.ends_run) end();
}

void CheckParty::end_by_signal(int signal) {
  status_ = kExitSignalBase + signal;
  if (signal == SIGALRM) print(options_.program + ": " + cause_of_end(signal) + "; not all was compared\n");
  end();
}

// The report ends with all problems, so nothing is printed here.
void CheckParty::tell(const JsonProblem& problem) {
  if (json_ != nullptr) (void)json_->problem(problem);
}

void CheckParty::fail(const io::Error& error) {
  print(error_line(error, options_.program));
  tell(json_problem(error));
  raise(exit_status(error.kind));
  end();
}

}  // namespace rdcp::cli
