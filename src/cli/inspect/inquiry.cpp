#include "cli/inspect/inquiry.h"

#include <utility>

#include "cli/agents/user_output.h"

namespace rdcp::cli {

AgentSession& Inquiry::add(std::unique_ptr<AgentSession> session) {
  loop_.add(*session);
  return *sessions_.emplace_back(std::move(session));
}

void Inquiry::drop(AgentSession& session, bool completed) {
  if (!session.gone()) session.tell(tree::Finish());
  loop_.remove(session);
  session.end(!completed);
  failures_.erase(&session);
  std::erase_if(sessions_, [&](const auto& one) { return one.get() == &session; });
}

const io::Error* Inquiry::failure_of(const AgentSession& session) const {
  const auto at = failures_.find(&session);
  return at == failures_.end() ? nullptr : &at->second;
}

io::Result<void> Inquiry::wait_until(const std::function<bool()>& done) {
  return wait_for(loop_.sessions(), done);
}

// A session that is gone stays so. A problem that it had before is over.
io::Result<void> Inquiry::wait_for(const std::vector<AgentSession*>& sessions,
                                   const std::function<bool()>& done) {
  constexpr std::chrono::milliseconds kLookEvery{500};
  error_.reset();
  for (const AgentSession* session : sessions) {
    if (!session->gone()) failures_.erase(session);
  }
  while (!done()) {
    for (const AgentSession* session : sessions) {
      if (const io::Error* const failure = failure_of(*session)) return *failure;
    }
    loop_.turn(kLookEvery);
    if (signal_ != 0)
      return io::plain_error(io::ErrorKind::interrupted, what_, "agents", "ended by a signal");
    if (error_) return *error_;
  }
  return {};
}

void Inquiry::end(bool completed) {
  loop_.tell_all(tree::Finish());
  for (const auto& session : sessions_) session->end(!completed);
}

io::Result<void> Inquiry::print(std::string_view text) {
  return text.empty() ? io::Result<void>() : print_out(text, loop_.sessions());
}

void Inquiry::print_problem(std::string_view text) {
  print_error(text, loop_.sessions(), signal_ != 0);
}

void Inquiry::hear_problem(AgentSession& session, const tree::Problem& problem) {
  if (hear_problem_) return hear_problem_(session, problem);
  failures_.try_emplace(&session, io::plain_error(problem.kind, what_, session.name(), problem.text));
}

void Inquiry::lose(AgentSession& session, const io::Error& error) {
  failures_.try_emplace(&session, session.explain(error));
}

void Inquiry::fall_silent(AgentSession& session, const io::Error& error) {
  failures_.try_emplace(&session, error);
}

void Inquiry::fail(const io::Error& error) {
  if (!error_) error_ = error;
}

void Inquiry::end_by_signal(int signal) {
  signal_ = signal;
  loop_.end();
}

}  // namespace rdcp::cli
