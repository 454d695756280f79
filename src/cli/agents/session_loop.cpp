#include "cli/agents/session_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace rdcp::cli {

using io::ErrorKind;
using std::chrono::milliseconds;

namespace {

// True if there is a terminal on which ssh could ask for a password.
bool has_terminal() {
  return io::Fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)).get() >= 0;
}

// True if ssh would ask somebody for a password: on a terminal, or by a program (ssh(1), SSH_ASKPASS).
bool somebody_can_be_asked() {
  return has_terminal() || std::getenv("SSH_ASKPASS") != nullptr;
}

// Returns what poll(2) must be told to wait for.
pollfd readable(int fd) {
  return {fd, POLLIN, 0};
}

}  // namespace

SilenceLimits silence_limits() {
  constexpr std::chrono::seconds kHelloMax{60};
  constexpr std::chrono::seconds kPasswordMax{180};
  return {.before_hello = has_terminal() ? kPasswordMax : kHelloMax};
}

void SessionLoop::add(AgentSession& session) {
  session.on<tree::Problem>(
      [this, &session](const tree::Problem& problem) { user_.hear_problem(session, problem); });
  session.on<tree::ExplainedProblem>([this, &session](const tree::ExplainedProblem& explained) {
    user_.hear_problem(session, explained.problem);
  });
  sessions_.push_back(&session);
}

bool SessionLoop::turn(milliseconds max_wait) {
  if (ended_) return false;
  std::vector<pollfd> polled{readable(settings_.signal_fd)};
  for (const Watched& watched : watched_) polled.push_back(readable(watched.fd()));
  for (const AgentSession* session : sessions_)
    polled.push_back(readable(session->gone() ? -1 : session->fd()));
  if (::poll(polled.data(), polled.size(), static_cast<int>(max_wait.count())) < 0) {
    if (errno == EINTR) return !ended_;
    return user_.fail(io::errno_error("poll", "agents", errno, ErrorKind::connection)), !ended_;
  }
  auto next = polled.begin();
  const auto is_ready = [&next] {
    const pollfd& entry = *next++;
    return entry.fd >= 0 && entry.revents != 0;
  };
  if (is_ready()) take_signal();
  for (const Watched& watched : watched_) {
    if (is_ready() && !ended_) watched.ready();
  }
  for (AgentSession* session : sessions_) {
    if (is_ready() && !ended_) receive(*session);
  }
  for (AgentSession* session : sessions_) {
    if (!ended_) check(*session);
  }
  if (!ended_) send_beats();
  return !ended_;
}

bool SessionLoop::turn_until(const std::function<bool()>& done, milliseconds max_wait) {
  while (!done()) {
    if (!turn(max_wait)) return false;
  }
  return true;
}

bool SessionLoop::await_logins(const std::function<bool()>& given_up) {
  constexpr milliseconds kLookEvery{500};
  if (!somebody_can_be_asked()) return !ended_;
  const auto may_ask = [](const AgentSession* session) { return session->may_ask(); };
  return turn_until([&] { return given_up() || std::ranges::none_of(sessions_, may_ask); }, kLookEvery) &&
         !given_up();
}

bool SessionLoop::has_room_for_login() const {
  return std::ranges::count_if(sessions_, is_coming) < kLoginsMax;
}

void SessionLoop::take_signal() {
  signalfd_siginfo info{};
  if (::read(settings_.signal_fd, &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo == SIGTSTP) {
    stop_until_continued();
  } else {
    user_.end_by_signal(static_cast<int>(info.ssi_signo));
  }
}

void SessionLoop::stop_until_continued() {
  tell_all(tree::Suspend());
  user_.about_to_stop();
  for (AgentSession* session : sessions_) session->signal_copy(SIGSTOP);
  ::kill(::getpid(), SIGSTOP);
  for (AgentSession* session : sessions_) {
    session->signal_copy(SIGCONT);
    session->excuse_silence();
  }
}

void SessionLoop::receive(AgentSession& session) {
  const auto received = session.receive();
  if (!received && !ended_) user_.lose(session, received.error());
}

// Finds out whether the agent has been silent, or has taken no message, for too long, and whether one that
// was lost is rejoined.
void SessionLoop::check(AgentSession& session) {
  if (session.send_failure()) return user_.fall_silent(session, *session.send_failure());
  const milliseconds limit = session.hello() ? settings_.limits.after_hello : settings_.limits.before_hello;
  if (session.away()) {
    const auto tried = session.try_to_rejoin();
    if (!tried && !ended_) user_.lose(session, tried.error());
    return;
  }
  if (session.silence() <= limit) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  const auto silence =
      io::plain_error(session.hello() ? ErrorKind::connection : ErrorKind::unreachable, "wait for",
                      session.name(), settings_.silence + " for " + std::to_string(seconds) + " s");
  if (!session.outlast_loss(silence, true)) user_.fall_silent(session, silence);
}

// An agent that its user has stopped hears no beats, and expects none when it goes on.
void SessionLoop::send_beats() {
  if (Clock::now() < next_beat_) return;
  next_beat_ = Clock::now() + settings_.beat_interval;
  for (AgentSession* session : sessions_) {
    if (session->hello() && !session->gone() && !session->suspended()) session->tell(tree::Beat());
  }
}

void SessionLoop::await_goodbyes(milliseconds grace) {
  constexpr milliseconds kLookEvery{100};
  const auto deadline = Clock::now() + grace;
  while (Clock::now() < deadline) {
    std::vector<AgentSession*> left;
    std::vector<pollfd> polled;
    for (AgentSession* session : sessions_) {
      if (session->gone() || !session->remote()) continue;
      left.push_back(session);
      polled.push_back(readable(session->fd()));
    }
    if (left.empty()) return;
    if (::poll(polled.data(), polled.size(), kLookEvery.count()) < 0) continue;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (polled[i].revents != 0) left[i]->hear_last_words();
    }
  }
}

}  // namespace rdcp::cli
