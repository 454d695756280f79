#include "cli/check/check_party.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/text/exit_status.h"
#include "cli/text/report.h"

namespace rdcp::cli {

using io::ErrorKind;

namespace {

constexpr std::chrono::milliseconds kLookEvery{500};

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

// All agents hear of the end before one is waited for.
CheckParty::~CheckParty() {
  loop_.tell_all(tree::Finish{.status = static_cast<std::uint8_t>(status_)});
  for (const Agent& agent : agents_) agent.session->close_out();
  for (const Agent& agent : agents_) agent.session->end(over_ || agent.session->gone());
}

bool CheckParty::start(const Location* source, const std::vector<CheckedHost*>& hosts, bool leave_late) {
  leaves_late_ = leave_late;
  starting_ = true;
  if (source != nullptr && !start_agent(*source, nullptr)) return false;
  for (CheckedHost* const host : hosts) {
    if (!start_agent(host->place, host)) return false;
  }
  starting_ = false;
  if (!loop_.await_logins()) return false;
  const auto is_there = [](const Agent& agent) { return agent.left || agent.session->hello().has_value(); };
  return !hosts_.empty() && turn_until([&] { return std::ranges::all_of(agents_, is_there); }) &&
         !hosts_.empty();
}

// Returns false if the check is over.
bool CheckParty::start_agent(const Location& place, CheckedHost* host) {
  if (!loop_.await_logins() || !turn_until([this] { return loop_.has_room_for_login(); })) return false;
  auto session = is_remote(place)
                     ? AgentSession::start_remote(options_.shell, place)
                     : AgentSession::start_thread(
                           {.confinement = confinement(options_.shell, tree::Confinement::of_thread)});
  if (session) return add(std::move(*session), host), true;
  if (host == nullptr) return fail(session.error()), false;
  report(session.error(), *host);
  return true;
}

void CheckParty::report(const io::Error& error, CheckedHost& host) {
  print(error_line(error, options_.program));
  JsonProblem problem = json_problem(error);
  if (problem.host.empty() && is_remote(host.place)) problem.host = host.place.host;
  tell(problem);
  host.raise(exit_status(error.kind));
  host.cause = error.message();
}

void CheckParty::add(std::unique_ptr<AgentSession> session, CheckedHost* host) {
  const std::size_t which = agents_.size();
  if (host != nullptr) hosts_.push_back(which);
  Agent& agent = agents_.emplace_back(Agent{.session = std::move(session), .host = host});
  if (json_ != nullptr) agent.session->explain_problems();
  agent.session->collect(agent.pages);
  agent.session->collect(agent.unlisted);
  agent.session->on<tree::SumTold>([this, which](tree::SumTold& told) { take_told(which, told); });
  loop_.add(*agent.session);
}

bool CheckParty::turn_until(const std::function<bool()>& done) {
  while (!done()) {
    if (!loop_.turn(kLookEvery)) return false;
    if (leaves_late_) leave_late();
  }
  return !over_;
}

void CheckParty::leave_late() {
  std::vector<AgentSession*> hosts;
  for (const std::size_t which : hosts_) hosts.push_back(agents_[which].session.get());
  for (AgentSession* const session : latecomers_.find(hosts)) {
    const std::size_t which = number_of(*session);
    agents_[which].host->is_late = true;
    session->end(true);
    dismiss(which);
  }
}

void CheckParty::look_at(std::size_t which, const std::string& path, tree::ListJob job) {
  Agent& agent = agents_[which];
  job.number = ++agent.job;
  job.path = path;
  job.numeric_ids = options_.numeric_ids;
  job.cache = options_.cache;
  agent.session->tell(job);  // an agent that is gone shows when it is read from
  const std::uint32_t pages = agent.host == nullptr ? kPages : pages_for(hosts_.size());
  agent.session->tell(tree::ListMore{.pages = pages});
}

std::vector<tree::Listed> CheckParty::take_pages(std::size_t which) {
  return of_current_job(agents_[which].pages, agents_[which].job);
}

std::vector<tree::Unlisted> CheckParty::take_unlisted(std::size_t which) {
  return of_current_job(agents_[which].unlisted, agents_[which].job);
}

void CheckParty::ask(const tree::SumItem& item, std::uint64_t bytes, const std::vector<std::size_t>& agents,
                     Question::Answer answer) {
  auto question = std::make_shared<Question>(Question{item, bytes, std::move(answer)});
  for (const std::size_t which : agents) {
    if (agents_[which].left) continue;
    agents_[which].asks.add(question);
    ++question->open;
  }
  if (question->open == 0) return;
  question->cost = cost_of(*question);
  asked_bytes_ += question->cost;
  send_waiting();
}

void CheckParty::flush() {
  for (Agent& agent : agents_) agent.asks.flush();
  send_waiting();
}

void CheckParty::send_waiting() {
  for (Agent& agent : agents_) {
    while (auto ask = agent.asks.next()) agent.session->tell(*ask);
  }
}

// An answer to what was not asked ends that agent's part.
void CheckParty::take_told(std::size_t which, tree::SumTold& told) {
  Agent& agent = agents_[which];
  if (over_ || agent.left) return;
  const auto questions = agent.asks.take(told);
  if (!questions) {
    return give_up(which, io::plain_error(ErrorKind::protocol, "talk to", agent.session->name(),
                                          "it sent an answer to a question that was not asked"));
  }
  for (std::size_t i = 0; i < questions->size(); ++i) {
    Question& question = *(*questions)[i];
    question.replies.push_back({which, std::move(told.found[i])});
    settle(question);
  }
}

// Takes note that one agent less is to answer.
void CheckParty::settle(Question& question) {
  if (--question.open > 0) return;
  asked_bytes_ -= question.cost;
  std::ranges::sort(question.replies, {}, &Reply::agent);
  question.answer(question.replies);
}

bool CheckParty::turn() {
  if (!loop_.turn(kLookEvery)) return false;
  send_waiting();
  return true;
}

std::size_t CheckParty::number_of(const AgentSession& session) const {
  const auto at =
      std::ranges::find(agents_, &session, [](const Agent& agent) { return agent.session.get(); });
  return static_cast<std::size_t>(at - agents_.begin());
}

void CheckParty::dismiss(std::size_t which) {
  Agent& agent = agents_[which];
  if (std::exchange(agent.left, true)) return;
  agent.session->allow_silence();
  std::erase(hosts_, which);
  for (const auto& question : agent.asks.give_up()) settle(*question);
}

void CheckParty::give_up(std::size_t which, const io::Error& error) {
  const Agent& agent = agents_[which];
  if (agent.left) return;
  if (agent.host == nullptr) return fail(error);
  report(error, *agent.host);
  end_part(which);
}

// The others go on, if there are any. An agent in this process is never one of several.
void CheckParty::end_part(std::size_t which) {
  dismiss(which);
  if (hosts_.empty() && !starting_) return end();
  AgentSession& session = *agents_[which].session;
  if (session.remote()) session.end(true);
}

void CheckParty::hear_problem(AgentSession& session, const tree::Problem& problem) {
  const std::size_t which = number_of(session);
  CheckedHost* const host = agents_[which].host;
  if (agents_[which].left) return;
  print(options_.program + ": " + session.problem_prefix() + problem.text + "\n");
  tell(json_problem(problem, session.host_elsewhere()));
  const int status = exit_status(problem.kind);
  host == nullptr ? raise(status) : host->raise(status);
  if (!problem.ends_run) return;
  if (host == nullptr) return end();
  host->cause = problem.text;
  end_part(which);
}

void CheckParty::lose(AgentSession& session, const io::Error& error) {
  const std::size_t which = number_of(session);
  if (!agents_[which].left) give_up(which, session.explain(error));
}

void CheckParty::fall_silent(AgentSession& session, const io::Error& error) {
  give_up(number_of(session), error);
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
