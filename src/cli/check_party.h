// The agents of a check and the loop that hears them.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "cli/agent_link.h"
#include "cli/options.h"
#include "cli/user_output.h"
#include "tree/check_job.h"

namespace rdcp::cli {

// One agent for each tree that is looked at. One thread.
class CheckParty {
 public:
  // signal_fd: as Coordinator's.
  CheckParty(const Options& options, int signal_fd);
  ~CheckParty();

  // Starts an agent at each place, and waits until they are there. False: over, see status().
  bool start(const std::vector<Location>& places);
  std::size_t size() const { return links_.size(); }
  AgentLink& link(std::size_t which) { return *links_[which]; }
  // Tells the agent what to look at, and hands out its first pages. job: what is wanted besides.
  void look_at(std::size_t which, const std::string& path, tree::ListJob job = {});

  // Pages of the list of what it looks at now.
  std::vector<tree::Listed> take_pages(std::size_t which);

  // What an agent answered; in the order of the agents.
  using Answer = std::function<void(const std::vector<tree::SumFound>&)>;
  // Asks all agents for the same. `bytes`: about what is to be read for it. While there is no room() nothing
  // should be asked but what an answer leads to.
  void ask(const tree::SumItem& item, std::uint64_t bytes, Answer answer);
  bool room() const { return asks_.size() < kAsksMax; }
  // Hands over what has been gathered: nothing more comes soon.
  void flush();
  bool idle() const { return asks_.empty() && gathered_.items.empty(); }

  // Waits for what the agents say, and gives the answers. False: over, see status().
  bool turn();
  // A line for the user.
  void print(std::string_view text) { print_error(text, all_links(), over_); }
  // Every agent, for print_out().
  std::vector<AgentLink*> all_links() const;
  // Over, for a reason that is told here.
  void fail(const io::Error& error);
  void raise(int status) { status_ = std::max(status_, status); }
  int status() const { return status_; }

  static constexpr std::uint32_t kPages = 8;  // of a list, under way at one time

 private:
  struct Ask {
    tree::SumAsk ask;
    std::vector<Answer> answers;
    std::vector<std::vector<tree::SumFound>> found;  // by agent; empty: not yet
  };
  // An agent reads on while this much is under way to it: less than any pipe holds, so that no write here
  // ever waits for an agent that waits for us.
  static constexpr std::size_t kTextUnderWay = 24 << 10;
  static constexpr std::size_t kAsksMax = 256;
  struct Way {
    std::deque<std::uint32_t> waiting;  // ids
    std::size_t under_way = 0;
    std::size_t text = 0;
    std::uint32_t job = 0;
  };

  void send_waiting();
  bool take_told(std::size_t which);
  void take_signal();
  bool hear(std::size_t which, bool readable);
  void send_beats();

  const Options& options_;
  const int signal_fd_;
  const bool has_terminal_;
  std::vector<std::unique_ptr<AgentLink>> links_;
  std::vector<Way> ways_;
  tree::SumAsk gathered_;
  std::vector<Answer> gathered_answers_;
  std::uint64_t gathered_bytes_ = 0;
  std::map<std::uint32_t, Ask> asks_;
  std::uint32_t next_id_ = 1;
  std::chrono::steady_clock::time_point next_beat_;
  int status_ = 0;
  bool over_ = false;
};

}  // namespace rdcp::cli
