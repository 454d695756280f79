// The agents of a check, and what is asked of them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "cli/agents/message_handlers.h"
#include "cli/agents/session_loop.h"
#include "cli/agents/user_output.h"
#include "cli/options/options.h"
#include "cli/text/json_report.h"
#include "tree/messages/check_job.h"

namespace rdcp::cli {

// Has one agent for each tree that is checked. Not thread-safe.
class CheckParty final : public SessionUser {
 public:
  // signal_fd: as for Coordinator.
  // json: is told of problems; may be nullptr.
  CheckParty(const Options& options, int signal_fd, JsonReport* json);
  ~CheckParty() override;

  // Starts an agent at each place, and waits until all have said hello. Returns false if the check is over;
  // see status().
  bool start(const std::vector<Location>& places);
  AgentSession& session(std::size_t which) { return *agents_[which].session; }
  // Tells an agent which tree to list, and asks for the first pages of the list. job: further settings.
  void look_at(std::size_t which, const std::string& path, tree::ListJob job = {});

  // Takes the pages that have come of the agent's current list, and drops those of older ones.
  std::vector<tree::Listed> take_pages(std::size_t which);

  // Takes what the list lacks, of which the pages that are taken next know.
  std::vector<tree::Unlisted> take_unlisted(std::size_t which);

  // Is called with what each agent answered, in the order of the agents.
  using Answer = std::function<void(const std::vector<tree::SumFound>&)>;
  // Asks all agents for the same item. bytes: about how much each reads for it. While room() is false,
  // nothing should be asked except what an answer leads to.
  void ask(const tree::SumItem& item, std::uint64_t bytes, Answer answer);
  bool room() const { return asks_.size() < kAsksMax; }
  // Sends the items that ask() has gathered; to be called when no more come soon.
  void flush();
  bool idle() const { return asks_.empty() && gathered_.items.empty(); }

  // Waits for what the agents say, and passes their answers on. Returns false if the check is over; see
  // status().
  bool turn();
  // Prints a line on standard error.
  void print(std::string_view text) { print_error(text, sessions(), over_); }
  // All agents, for print_out().
  const std::vector<AgentSession*>& sessions() const { return loop_.sessions(); }
  // Prints the error and ends the check.
  void fail(const io::Error& error) override;
  void raise(int status) { status_ = std::max(status_, status); }
  int status() const { return status_; }

  void hear_problem(AgentSession& session, const tree::Problem& problem) override;
  void lose(AgentSession& session, const io::Error& error) override { fail(session.explain(error)); }
  void end_by_signal(int signal) override;

  static constexpr std::uint32_t kPages = 8;  // pages of a list that are under way at a time

 private:
  struct Ask {
    tree::SumAsk ask;
    std::vector<Answer> answers;
    std::vector<std::vector<tree::SumFound>> found;  // by agent; empty until it has answered
  };
  // No more asks are sent to an agent while this much text is under way to it. It is less than any pipe
  // holds, so no write here ever waits for an agent that waits for us.
  static constexpr std::size_t kTextUnderWay = 24 << 10;
  static constexpr std::size_t kAsksMax = 256;
  struct Agent {
    std::unique_ptr<AgentSession> session;
    std::deque<std::uint32_t> waiting = {};  // ids of asks that are not sent yet
    std::size_t under_way = 0;
    std::size_t text = 0;
    std::uint32_t job = 0;
    Inbox<tree::Listed> pages = {};  // not taken yet
    Inbox<tree::Unlisted> unlisted = {};
  };

  bool add(const Location& place);
  void end() { over_ = true, loop_.end(); }
  void send_waiting();
  void take_told(std::size_t which, tree::SumTold& told);

  void tell(const JsonProblem& problem);

  const Options& options_;
  JsonReport* const json_;
  SessionLoop loop_;
  std::deque<Agent> agents_;
  tree::SumAsk gathered_;
  std::vector<Answer> gathered_answers_;
  std::uint64_t gathered_bytes_ = 0;
  std::map<std::uint32_t, Ask> asks_;
  std::uint32_t next_id_ = 1;
  int status_ = 0;
  bool over_ = false;
};

}  // namespace rdcp::cli
