// The agents of a check, and what is asked of them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/agents/latecomers.h"
#include "cli/agents/message_handlers.h"
#include "cli/agents/session_loop.h"
#include "cli/agents/user_output.h"
#include "cli/check/ask_queue.h"
#include "cli/check/checked_host.h"
#include "cli/options/options.h"
#include "cli/text/json_report.h"
#include "tree/messages/check_job.h"

namespace rdcp::cli {

// Has one agent for each tree that is checked: the source's, where there is one, and one for each host. The
// loss of a host ends its part only; the check is over when the source or the last host is lost. Agents have
// the numbers of the order in which they were added. Not thread-safe.
class CheckParty final : public SessionUser {
 public:
  // signal_fd: as for Coordinator.
  // json: is told of problems; may be nullptr.
  CheckParty(const Options& options, int signal_fd, JsonReport* json);
  ~CheckParty() override;

  // Starts an agent for the source, unless that is null, and one for each host, and waits until all have said
  // hello or are lost. leave_late: hosts that are late (Latecomers) are marked so, and left. Returns false if
  // the check is over; see status(). The hosts outlive this.
  bool start(const Location* source, const std::vector<CheckedHost*>& hosts, bool leave_late);
  // Takes an agent over that has been started; host: null for the source's, which is the first one.
  void add(std::unique_ptr<AgentSession> session, CheckedHost* host);
  std::size_t agents() const { return agents_.size(); }
  // Returns the agents of the hosts that take part.
  const std::vector<std::size_t>& hosts() const { return hosts_; }
  AgentSession& session(std::size_t which) { return *agents_[which].session; }
  CheckedHost& host(std::size_t which) { return *agents_[which].host; }
  bool takes_part(std::size_t which) const { return !agents_[which].left; }

  // Tells an agent which tree to list, and asks for the first pages of the list. job: further settings.
  void look_at(std::size_t which, const std::string& path, tree::ListJob job = {});
  // Takes the pages that have come of the agent's current list, and drops those of older ones.
  std::vector<tree::Listed> take_pages(std::size_t which);
  // Takes what the list lacks, of which the pages that are taken next know.
  std::vector<tree::Unlisted> take_unlisted(std::size_t which);

  // Asks these agents for the same item. bytes: about how much each reads for it. While room() is false,
  // nothing should be asked except what an answer leads to.
  void ask(const tree::SumItem& item, std::uint64_t bytes, const std::vector<std::size_t>& agents,
           Question::Answer answer);
  bool room() const { return asked_bytes_ < kAskedBytesMax; }
  // Sends the items that ask() has gathered; to be called when no more come soon.
  void flush();
  bool idle() const { return asked_bytes_ == 0; }

  // Waits for what the agents say, and passes their answers on. Returns false if the check is over; see
  // status().
  bool turn();
  // Prints a line on standard error.
  void print(std::string_view text) { print_error(text, sessions(), over_); }
  // All agents, for print_out().
  const std::vector<AgentSession*>& sessions() const { return loop_.sessions(); }
  // Prints the error and ends the check.
  void fail(const io::Error& error) override;
  // The same for one agent only, unless the check cannot go on without it.
  void give_up(std::size_t which, const io::Error& error);
  // The agent's host takes no part any more: it is done.
  void dismiss(std::size_t which);
  // The exit status of what is not one host's affair: the source, signals.
  void raise(int status) { status_ = std::max(status_, status); }
  int status() const { return status_; }
  bool is_over() const { return over_; }

  void hear_problem(AgentSession& session, const tree::Problem& problem) override;
  void lose(AgentSession& session, const io::Error& error) override;
  void fall_silent(AgentSession& session, const io::Error& error) override;
  void end_by_signal(int signal) override;

  // Returns how many pages of each host's list are under way at a time.
  static constexpr std::uint32_t pages_for(std::size_t hosts) { return hosts > 16 ? kPages / 2 : kPages; }
  static constexpr std::uint32_t kPages = 8;
  // The memory of the questions that are open: with many hosts fewer are, so that one that lags holds the
  // others.
  static constexpr std::size_t kAskedBytesMax = 16 << 20;

 private:
  struct Agent {
    std::unique_ptr<AgentSession> session;
    CheckedHost* host = nullptr;
    AskQueue asks = {};
    std::uint32_t job = 0;
    Inbox<tree::Listed> pages = {};  // not taken yet
    Inbox<tree::Unlisted> unlisted = {};
    bool left = false;  // takes no part any more
  };

  bool start_agent(const Location& place, CheckedHost* host);
  bool turn_until(const std::function<bool()>& done);
  void end() { over_ = true, loop_.end(); }
  void send_waiting();
  void take_told(std::size_t which, tree::SumTold& told);
  void settle(Question& question);
  void report(const io::Error& error, CheckedHost& host);
  void end_part(std::size_t which);
  void leave_late();
  std::size_t number_of(const AgentSession& session) const;
  void tell(const JsonProblem& problem);

  const Options& options_;
  JsonReport* const json_;
  SessionLoop loop_;
  Latecomers latecomers_;
  std::deque<Agent> agents_;
  std::vector<std::size_t> hosts_;
  std::size_t asked_bytes_ = 0;
  int status_ = 0;
  bool starting_ = false;
  bool leaves_late_ = false;
  bool over_ = false;
};

}  // namespace rdcp::cli
