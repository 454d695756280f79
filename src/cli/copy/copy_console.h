// Shows one copy to its user, and keeps its exit status.
#pragma once

#include <string>
#include <string_view>

#include "cli/agents/session_loop.h"
#include "cli/copy/copy_request.h"
#include "cli/text/progress.h"
#include "cli/text/report.h"
#include "io/result.h"
#include "tree/messages/changes.h"
#include "tree/messages/message.h"

namespace rdcp::cli {

// Prints lines, erases the progress line before each, and keeps the worst status. A view with `tell` is told
// of problems instead. Not thread-safe.
class CopyConsole {
 public:
  // Both must outlive this. While a reader of what is printed must be waited for, the agents of the loop
  // know.
  CopyConsole(const CopyView& view, const SessionLoop& loop);

  // Reports an error that ends the run, or a problem of an agent.
  void fail(const io::Error& error);
  void report(const AgentSession& session, const tree::Problem& problem);
  // Says which signal has ended the run. From now on nothing waits for a reader.
  void report_signal(int signal);
  // Tells the user a line about what is no failure, unless -q was given.
  void tell(const std::string& line);
  // host: the one that is changed, if there are several; its name comes first in each line.
  void print_changes(const tree::Changes& changes, const std::string& host = {});
  void print_summary(Summary summary, bool dry_run);
  // failed: hosts that this copy has lost so far.
  void show_progress(const tree::Progress& progress, std::size_t failed);
  // rows: of the table that is shown with the progress of a copy to several hosts, below those that say which
  // hosts earlier chains have lost.
  void show_table(const Progress::Rows& rows);
  void clear_progress() { progress_.clear(); }

  // Makes the exit status at least this (exit_status.h).
  void raise(int status);
  int status() const { return status_; }
  bool interrupted() const { return interrupted_; }

 private:
  void print(const std::string& text);
  void print_lines(std::string_view lines);

  const CopyView& view_;
  const SessionLoop& loop_;
  Progress progress_;
  int status_ = 0;  // the worst so far; a signal's is final
  bool interrupted_ = false;
  bool out_failed_ = false;  // nobody reads standard output any more
};

}  // namespace rdcp::cli
