#include "cli/inspect/inquiry.h"

#include <utility>

#include "cli/agents/user_output.h"

namespace rdcp::cli {

AgentSession& Inquiry::add(std::unique_ptr<AgentSession> session) {
  loop_.add(*session);
  return *sessions_.emplace_back(std::move(session));
}

io::Result<void> Inquiry::wait_until(const std::function<bool()>& done) {
  constexpr std::chrono::milliseconds kLookEvery{500};
  error_.reset();
  while (!done()) {
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
  fail(io::plain_error(problem.kind, what_, session.name(), problem.text));
}

void Inquiry::fail(const io::Error& error) {
  if (!error_) error_ = error;
}

void Inquiry::end_by_signal(int signal) {
  signal_ = signal;
  loop_.end();
}

}  // namespace rdcp::cli
